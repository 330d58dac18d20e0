// Writes repro.cpp: data first, then a main() that never changes.
#include "fuzz/repro_data.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace mqalab {
namespace {

constexpr const char* kHead =
    R"cpp(// Reproduces one finding of mqalab without the lab: C API of libmqa and the HIP runtime, nothing else.
//   {title}
// build:  c++ -std=c++17 repro.cpp -I <folder of mqa.h> -I <folder of hip/> -L <folder of libmqa> -lmqa -lamdhip64 -o repro
// run:    ./repro          exit 1: at least one cell is wrong
#if !defined(__HIP_PLATFORM_AMD__) && !defined(__HIP_PLATFORM_NVIDIA__) && !defined(MQA_PLATFORM_NVIDIA)
#define __HIP_PLATFORM_AMD__ 1
#endif
#include <hip/hip_runtime_api.h>
#if __has_include("kernels/mqa.h")
#include "kernels/mqa.h"
#else
#include <mqa.h>
#endif

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

struct Piece {{ long long offset, repeats; const char* hex; }};  // bytes at an offset, repeated
struct Cell {{ long long row, column, element; char due; double expected, bound; }};  // v value, i -inf, u untouched
struct Inputs {{ const uint8_t *q, *kv; const float *weights, *scales; const int32_t *lens, *table, *prefix, *starts; float* planes; }};
)cpp";

constexpr const char* kMain = R"cpp(
static void check(hipError_t error, const char* what) {
  if (error == hipSuccess) return;
  std::printf("%s: %s\n", what, hipGetErrorString(error));
  std::exit(1);
}
static unsigned char* device(long long bytes) {
  void* memory = nullptr;
  check(hipMalloc(&memory, bytes > 0 ? bytes : 4), "hipMalloc");
  return static_cast<unsigned char*>(memory);
}
static void fill(unsigned char* memory, const Piece* pieces, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const size_t length = std::strlen(pieces[i].hex) / 2;
    std::vector<unsigned char> bytes;
    for (long long r = 0; r < pieces[i].repeats; ++r)
      for (size_t b = 0; b < length; ++b) {
        unsigned value = 0;
        std::sscanf(pieces[i].hex + 2 * b, "%2x", &value);
        bytes.push_back(static_cast<unsigned char>(value));
      }
    check(hipMemcpy(memory + pieces[i].offset, bytes.data(), bytes.size(), hipMemcpyHostToDevice), "hipMemcpy");
  }
}
static bool right(const Cell& cell, uint32_t bits) {
  float got;
  std::memcpy(&got, &bits, 4);
  if (cell.due == 'u') return bits == kSentinel;
  if (bits == kSentinel) return false;
  if (std::isinf(cell.bound)) return true;  // fp32 does not settle the class
  if (std::isnan(cell.expected)) return std::isnan(got);
  if (std::isinf(cell.expected)) return got == static_cast<float>(cell.expected);
  return std::fabs(got - cell.expected) <= cell.bound + std::fabs(cell.expected) * 6e-8;
}

template <size_t N> static unsigned char* tensor(long long bytes, const Piece (&pieces)[N]) {
  unsigned char* memory = device(bytes);
  fill(memory, pieces, N);
  return memory;
}
static const float* floats(const unsigned char* memory) { return reinterpret_cast<const float*>(memory); }
template <size_t N> static const int32_t* integers(const int32_t (&list)[N]) {
  unsigned char* memory = device(sizeof list);
  check(hipMemcpy(memory, list, sizeof list, hipMemcpyHostToDevice), "hipMemcpy");
  return reinterpret_cast<const int32_t*>(memory);
}

int main() {
  Inputs in{};
  in.q = tensor(kQBytes, kQ), in.kv = tensor(kKvBytes, kKv);
  in.weights = floats(tensor(kWeightsBytes, kWeights)), in.scales = floats(tensor(kScalesBytes, kScales));
  in.lens = integers(kLens), in.table = integers(kTable), in.prefix = integers(kPrefix), in.starts = integers(kStarts);
  in.planes = reinterpret_cast<float*>(device(kPlanesBytes));
  unsigned char* logits = device(kLogitsBytes);
  for (const Cell& cell : kCells)
    check(hipMemcpy(logits + 4 * cell.element, &kSentinel, 4, hipMemcpyHostToDevice), "hipMemcpy");
  if (launch(in, reinterpret_cast<float*>(logits)) != MQA_OK) {
    std::printf("%s\n", mqa_last_error());
    return 1;
  }
  check(hipDeviceSynchronize(), "the kernel");
  int wrong = 0;
  for (const Cell& cell : kCells) {
    uint32_t bits = 0;
    float got;
    check(hipMemcpy(&bits, logits + 4 * cell.element, 4, hipMemcpyDeviceToHost), "hipMemcpy");
    std::memcpy(&got, &bits, 4);
    const bool good = right(cell, bits);
    wrong += !good;
    std::printf("row %lld column %lld: ", cell.row, cell.column);
    if (cell.due == 'u') std::printf("expected untouched");
    else std::printf("expected %.9g (+- %.3g)", cell.expected, cell.bound);
    std::printf(", got %s%.9g (0x%08x)%s\n", bits == kSentinel ? "untouched " : "", got, bits, good ? "" : "   WRONG");
  }
  std::printf("%d of %zu cells wrong\n", wrong, sizeof kCells / sizeof *kCells);
  return wrong != 0;
}
)cpp";

std::string piece_table(const char* table, const std::vector<Piece>& list) {
  std::string text = fmt::format("static const Piece {}[] = {{\n", table);
  if (list.empty()) text += "  {0, 0, \"\"},\n";
  for (const Piece& piece : list) {
    text += fmt::format("  {{{}, {},\n", piece.offset, piece.repeats);
    for (size_t at = 0; at < piece.hex.size(); at += 100)
      text += fmt::format("   \"{}\"\n", piece.hex.substr(at, 100));
    text += "  },\n";
  }
  return text + "};\n";
}

std::string number(double value) {
  return std::isnan(value)   ? "NAN"
         : std::isinf(value) ? (value < 0 ? "-INFINITY" : "INFINITY")
                             : fmt::format("{:.17g}", value);
}

std::string cell_table(const std::vector<DueCell>& cells) {
  std::string text = "static const Cell kCells[] = {\n";
  for (const DueCell& cell : cells)
    text += fmt::format("  {{{}, {}, {}, '{}', {}, {}}},\n", cell.row, cell.column, cell.element,
                        cell.due == Due::value       ? 'v'
                        : cell.due == Due::untouched ? 'u'
                                                     : 'i',
                        number(cell.expected), number(cell.bound));
  return text + "};\n";
}

std::string paged_arguments(const Problem& p) {
  return fmt::format(R"(  mqa_paged_logits_args a{{}};
  a.struct_size = sizeof a;
  a.batch = {}, a.next_n = {}, a.heads = {}, a.head_dim = {}, a.block_size = {};
  a.layout = {}, a.fp8 = {}, a.tail = {}, a.max_model_len = {}, a.num_blocks = {};
  a.q_stride_batch = {}, a.q_stride_next = {}, a.q_stride_head = {};
  a.kv_block_stride_bytes = {}, a.weights_stride = {};
  a.lens_per_row = {}, a.context_lens_stride = {}, a.block_table_stride = {}, a.logits_stride = {};
  a.q = in.q, a.kv_cache = in.kv, a.weights = in.weights, a.block_table = in.table, a.logits = {};
  {};
)",
                     p.batch, p.next_n, p.heads, p.head_dim, p.block_size, static_cast<int>(p.layout),
                     static_cast<int>(p.fp8), static_cast<int>(p.tail), p.max_model_len, p.num_blocks,
                     p.q_stride_batch, p.q_stride_next, p.q_stride_head, p.kv_block_stride_bytes,
                     p.weights_stride, p.lens_per_row ? 1 : 0, p.lens_per_row ? p.next_n : 1,
                     p.block_table_stride, p.logits_stride,
                     p.op == Operation::head_sum ? "in.planes" : "logits",
                     is_ragged(p.op) ? "a.slot_prefix = in.prefix" : "a.context_lens = in.lens") +
         (p.logits_stride_head ? fmt::format("  a.logits_stride_head = {};\n", p.logits_stride_head) : "");
}

std::string prefill_arguments(const Problem& p) {
  return fmt::format(R"(  mqa_prefill_logits_args a{{}};
  a.struct_size = sizeof a;
  a.rows = {}, a.heads = {}, a.head_dim = {}, a.fp8 = {}, a.tail = {}, a.compressed = {};
  a.num_keys = {}, a.columns = {}, a.q_stride_row = {}, a.q_stride_head = {}, a.k_stride = {};
  a.k_scales_stride = {}, a.weights_stride = {}, a.logits_stride = {};
  a.q = in.q, a.k = in.kv, a.k_scales = in.scales, a.weights = in.weights;
  a.starts = in.starts, a.ends = in.lens, a.logits = logits;
)",
                     p.rows(), p.heads, p.head_dim, static_cast<int>(p.fp8), static_cast<int>(p.tail),
                     p.compressed ? 1 : 0, p.num_blocks, p.max_model_len, p.q_stride_next, p.q_stride_head,
                     p.kv_block_stride_bytes, p.key_scales_stride, p.weights_stride, p.logits_stride);
}

std::string sum_step(const Problem& p) {
  return fmt::format(R"(  if (status != MQA_OK) return status;
  mqa_head_sum_args sum{{}};
  sum.struct_size = sizeof sum;
  sum.rows = {}, sum.heads = {}, sum.columns = {}, sum.stride_head = {}, sum.stride_row = {}, sum.sums_stride = {};
  sum.per_head = in.planes, sum.sums = logits;
  return mqa_head_sum(&sum, nullptr);
)",
                     p.rows(), p.heads, p.max_model_len, p.logits_stride_head, p.logits_stride,
                     p.logits_stride);
}

std::string launch_function(const Problem& p) {
  const bool prefill = p.op == Operation::prefill_logits;
  return fmt::format("static mqa_status launch(const Inputs& in, float* logits) {{\n{}"
                     "  const mqa_status status = {}(&a, &kConfig, nullptr, nullptr);\n{}}}\n",
                     prefill ? prefill_arguments(p) : paged_arguments(p), entry_name(p.op),
                     p.op == Operation::head_sum ? sum_step(p) : "  return status;\n");
}

std::string integers(const char* table, std::vector<int32_t> values) {
  if (values.empty()) values.push_back(0);
  return fmt::format("static const int32_t {}[] = {{{}}};\n", table, fmt::join(values, ", "));
}

} // namespace

std::string repro_cpp(const ReproData& data) {
  if (!data.no_program.empty()) return fmt::format("// {}\n#error \"{}\"\n", data.title, data.no_program);
  const Problem& p = data.problem;
  std::string text = fmt::format(fmt::runtime(kHead), fmt::arg("title", data.title));
  text += fmt::format(
      "\nstatic const uint32_t kSentinel = 0x7fc0dead;\nstatic const long long kQBytes = {}, "
      "kKvBytes = {}, kWeightsBytes = {}, kScalesBytes = {}, kPlanesBytes = {}, kLogitsBytes = {};\n"
      "static const mqa_config kConfig = {{{}, {}, {}, {}}};\n",
      query_bytes(p), kv_cache_bytes(p), weights_bytes(p), key_scales_bytes(p), planes_bytes(p),
      logits_bytes(p), data.config.variant, data.config.chunk_k, data.config.split_kv,
      data.config.wave_per_eu);
  text += integers("kLens", p.context_lens) + integers("kTable", p.block_table) +
          integers("kPrefix", is_ragged(p.op) ? slot_prefix_of(p) : std::vector<int32_t>{}) +
          integers("kStarts", p.row_starts);
  text += piece_table("kQ", data.q) + piece_table("kKv", data.kv_cache) +
          piece_table("kWeights", data.weights) + piece_table("kScales", data.key_scales);
  return text + cell_table(data.cells) + launch_function(p) + kMain;
}

} // namespace mqalab
