// Planted faults of addresses and widths (faults.md, 3.1): what is lost, wrapped or displaced when an offset
// is too narrow or built from the wrong index.
#include "fuzz/fault_table.hpp"

namespace mqalab {
namespace {

using mqa::Arch;
using mqa::PagedArgs;
using mqa::Rules;

constexpr int64_t k2GiB = int64_t{1} << 31;

// As the hardware: the buffer's range is 2^31 bytes, whatever lies beyond is dropped.
struct OutOffset32 : Rules {
  static __device__ void store(float* logits, int64_t offset, float value) {
    const int64_t bytes = offset * 4;
    Arch::buffer_store_32(logits, bytes >= k2GiB ? 0x80000000u : static_cast<uint32_t>(bytes), value);
  }
};
struct OutOffsetWrap : Rules {
  static __device__ void store(float* logits, int64_t offset, float value) {
    logits[static_cast<uint32_t>(offset * 4) / 4] = value;
  }
};
// Loads beyond the range return 0; values wrap inside the pool, so that nothing traps.
struct BlockOffset32 : Rules {
  static __device__ int64_t block_offset(const PagedArgs& a, int32_t block) {
    return Rules::block_offset(a, block) % k2GiB / 16 * 16;
  }
  static __device__ float load_scale(const uint8_t* kv, int64_t offset) {
    return offset >= k2GiB ? 0.0f : Rules::load_scale(kv, offset);
  }
};
struct ScaleOffset32 : Rules {
  static __device__ float load_scale(const uint8_t* kv, int64_t offset) {
    return offset >= k2GiB ? 0.0f : Rules::load_scale(kv, offset);
  }
};
struct TokenOffset32 : Rules {
  static __device__ int64_t block_offset(const PagedArgs& a, int32_t block) {
    const int64_t offset = Rules::block_offset(a, block);
    return a.block_size == 1 ? offset % k2GiB / 4 * 4 : offset;
  }
};
struct QOffset32 : Rules {
  static __device__ int64_t query_offset(const PagedArgs& a, int64_t b, int n, int head) {
    return Rules::query_offset(a, b, n, head) % k2GiB;
  }
};
struct WeightsOffset32 : Rules {
  static __device__ int64_t weight_offset(const PagedArgs& a, int64_t row, int head) {
    return Rules::weight_offset(a, row, head) * 4 % k2GiB / 4;
  }
};
struct LogitsStrideMml : Rules {
  static __device__ int64_t logit_offset(const PagedArgs& a, int64_t row, int64_t column) {
    return row * a.max_model_len + column;
  }
};
struct TableByToken : Rules {
  static __device__ int64_t table_offset(const PagedArgs& a, int64_t b, int32_t position) {
    const int32_t columns = (a.max_model_len + a.block_size - 1) / a.block_size;
    return b * a.block_table_stride + position % columns;
  }
};
struct TableRowZero : Rules {
  static __device__ int64_t table_offset(const PagedArgs& a, int64_t, int32_t position) {
    return Rules::table_offset(a, 0, position);
  }
};
struct LastPageWrong : Rules {
  static __device__ int64_t table_offset(const PagedArgs& a, int64_t b, int32_t position) {
    const int32_t context = mqa::needed_tokens<Rules>(a, b), column = block_column(a, position);
    const bool last_partial = column > 0 && context % a.block_size && column == context / a.block_size;
    return b * a.block_table_stride + column - last_partial;
  }
};
struct WeightsRowZero : Rules {
  static __device__ int64_t weight_offset(const PagedArgs& a, int64_t row, int head) {
    return Rules::weight_offset(a, row - row % a.next_n, head);
  }
};
struct RowNeighbour : Rules {
  static __device__ int64_t query_offset(const PagedArgs& a, int64_t b, int n, int head) {
    return Rules::query_offset(a, b, n & ~1, head);
  }
};
struct LenFlat : Rules {
  static __device__ int64_t length_index(const PagedArgs&, int64_t b, int) { return b; }
};
struct LenFirst : Rules {
  static __device__ int64_t length_index(const PagedArgs& a, int64_t b, int) {
    return b * a.context_lens_stride;
  }
};
struct BadBlockAsZero : Rules {
  static __device__ bool valid_block(int32_t id, int32_t num_blocks) { return num_blocks > 0 && id != -1; }
  static __device__ int64_t block_offset(const PagedArgs& a, int32_t block) {
    return Rules::valid_block(block, a.num_blocks) ? Rules::block_offset(a, block) : 0;
  }
  static __device__ int64_t scale_block_offset(const PagedArgs& a, int32_t block) {
    return block_offset(a, block);
  }
};

constexpr Fault kFaults[] = {
    {"out_offset_32", "output byte offset in 32 bits, out of range dropped", "untouched", kKill,
     kLaunch<OutOffset32>, R"({"batch": 2, "context_lens": [1, 1], "strides": {"logits": 536870912}})"},
    {"out_offset_wrap", "output byte offset modulo 2^32", "untouched", kKill, kLaunch<OutOffsetWrap>,
     R"({"batch": 2, "context_lens": [1, 1], "strides": {"logits": 1073741824}})"},
    {"block_offset_32", "block id * block stride in 32 bits, loads beyond return 0", "value", kKill,
     kLaunch<BlockOffset32>,
     R"({"block_size": 16, "context_lens": [3], "max_model_len": 3, "num_blocks": 2200,
         "strides": {"kv_block": 1002240}, "block_table": {"set": [[0, 0, 2150]]}})"},
    {"scale_offset_32", "only the scale's address is 32-bit", "value", kKill, kLaunch<ScaleOffset32>,
     R"({"block_size": 16, "context_lens": [3], "max_model_len": 3, "num_blocks": 2200,
         "strides": {"kv_block": 1002240}, "block_table": {"set": [[0, 0, 2150]]}})"},
    {"token_offset_32", "slot * 132 in 32 bits with block size 1", "value", kKill, kLaunch<TokenOffset32>,
     R"({"context_lens": [2], "max_model_len": 2, "num_blocks": 16269000,
         "block_table": {"set": [[0, 0, 16268900], [0, 1, 16268999]]}})"},
    {"q_offset_32", "q offset in 32 bits", "value", kKill, kLaunch<QOffset32>,
     R"({"batch": 2, "context_lens": [1, 1], "strides": {"q": [2147483648, 0, 0]}})"},
    {"weights_offset_32", "weights byte offset in 32 bits", "value", kKill, kLaunch<WeightsOffset32>,
     R"({"batch": 2, "context_lens": [1, 1], "strides": {"weights": 536870912}})"},
    {"logits_stride_mml", "row stride of the output taken as max_model_len", "untouched", kKill,
     kLaunch<LogitsStrideMml>, R"({"batch": 2, "context_lens": [1, 1], "strides": {"logits": 3}})"},
    {"table_by_token", "block table indexed by token instead of token / block size", "class", kKill,
     kLaunch<TableByToken>,
     R"({"block_size": 16, "context_lens": [40], "max_model_len": 40, "block_table": {"mode": "reversed"}})"},
    {"table_row_zero", "the table of sequence 0 used for all", "value", kKill, kLaunch<TableRowZero>,
     R"({"batch": 2, "block_size": 16, "context_lens": [16, 16], "max_model_len": 16})"},
    {"last_page_wrong", "the last, partial block read from the block before", "value", kKill,
     kLaunch<LastPageWrong>, R"({"block_size": 16, "context_lens": [17], "max_model_len": 17})"},
    {"weights_row_zero", "weights of a sequence's first row used for all its rows", "value", kKill,
     kLaunch<WeightsRowZero>, R"({"next_n": 2, "context_lens": [3], "max_model_len": 3})"},
    {"row_neighbour", "rows packed in pairs: an odd row takes its neighbour's q", "value", kKill,
     kLaunch<RowNeighbour>, R"({"next_n": 3, "context_lens": [4], "max_model_len": 4})"},
    {"len_flat", "lengths per row read as one per sequence", "untouched", kKill, kLaunch<LenFlat>,
     R"({"batch": 2, "next_n": 2, "lens_per_row": true, "context_lens": [2, 4, 6, 8], "max_model_len": 8})"},
    {"len_first", "the first row's length used for all rows", "untouched", kKill, kLaunch<LenFirst>,
     R"({"next_n": 2, "lens_per_row": true, "context_lens": [2, 5], "max_model_len": 8})"},
    {"bad_block_as_zero", "a block id out of range read as block 0", "class", kKill, kLaunch<BadBlockAsZero>,
     R"({"context_lens": [2], "max_model_len": 2, "num_blocks": 2, "block_table": {"set": [[0, 1, 7]]}})"},
};

} // namespace

std::span<const Fault> address_faults() { return kFaults; }

} // namespace mqalab
