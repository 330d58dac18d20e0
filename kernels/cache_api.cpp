// Entry points of the cache writer and the gather: check the arguments, launch.
#include "kernels/api_support.hpp"
#include "kernels/argument_rules.hpp"
#include "kernels/launch.hpp"

#include <cinttypes>

namespace mqa {
namespace {

// What both say of the cache.
template <class Args> std::string cache_error(const Args& a) {
  return first_error({range_error("tokens", a.tokens, 0, INT32_MAX), head_dim_error(a.head_dim),
                      block_size_error(a.block_size, a.layout),
                      range_error("num_blocks", a.num_blocks, 0, kMostBlocks)});
}
template <class Args> std::string block_stride_error(const Args& a) {
  const int64_t block_bytes = int64_t{a.block_size} * (a.head_dim + 4);
  if (auto error = stride_error(
          {{"kv_block_stride_bytes", a.kv_block_stride_bytes, block_bytes, false, a.num_blocks}});
      !error.empty())
    return error;
  if (a.kv_block_stride_bytes % 4)
    return words("kv_block_stride_bytes is %" PRId64 "; allowed: multiples of 4, because scales are fp32",
                 a.kv_block_stride_bytes);
  return "";
}

} // namespace

std::string why_invalid(const mqa_cache_write_args& a) {
  if (auto error = struct_size_error("mqa_cache_write_args", a.struct_size, sizeof a); !error.empty())
    return error;
  if (auto error = cache_error(a); !error.empty()) return error;
  if (auto error =
          first_error({range_error("fp8", a.fp8, MQA_E4M3FN, MQA_E4M3FNUZ),
                       range_error("key_type", a.key_type, MQA_KEY_BF16, MQA_KEY_FP32),
                       range_error("scale_format", a.scale_format, MQA_SCALE_PLAIN, MQA_SCALE_POWER_OF_TWO),
                       stride_error({{"keys_stride", a.keys_stride, a.head_dim, false, a.tokens}}),
                       block_stride_error(a)});
      !error.empty())
    return error;
  if (a.tokens == 0) return "";
  return pointer_error({{"keys", a.keys, a.key_type == MQA_KEY_FP32 ? uintptr_t{4} : uintptr_t{2}, true},
                        {"slots", a.slots, 8, true},
                        {"kv_cache", a.kv_cache, 4, a.num_blocks > 0}});
}

std::string why_invalid(const mqa_cache_gather_args& a) {
  if (auto error = struct_size_error("mqa_cache_gather_args", a.struct_size, sizeof a); !error.empty())
    return error;
  if (a.batch < 0) return words("batch is %d; allowed: 0 and more", a.batch);
  if (auto error = cache_error(a); !error.empty()) return error;
  if (auto error = first_error({stride_error({{"block_table_stride", a.block_table_stride, 1, true, a.batch},
                                              {"keys_stride", a.keys_stride, a.head_dim, false, a.tokens},
                                              {"scales_stride", a.scales_stride, 1, false, a.tokens}}),
                                block_stride_error(a)});
      !error.empty())
    return error;
  if (a.batch == 0 || a.tokens == 0) return "";
  return pointer_error({{"kv_cache", a.kv_cache, 4, a.num_blocks > 0},
                        {"block_table", a.block_table, 4, true},
                        {"cu_seq_lens", a.cu_seq_lens, 4, true},
                        {"keys", a.keys, 1, true},
                        {"scales", a.scales, 4, true}});
}

namespace {

template <class Args>
mqa_status run(const Args* args, hipError_t (*launch)(const Args&, hipStream_t), void* stream) {
  return guarded([&] {
    if (!args) return fail(MQA_INVALID_ARGUMENT, "args is NULL");
    if (const std::string why = why_invalid(*args); !why.empty()) return fail(MQA_INVALID_ARGUMENT, why);
    return launched(launch(*args, static_cast<hipStream_t>(stream)));
  });
}

} // namespace
} // namespace mqa

mqa_status mqa_cache_write(const mqa_cache_write_args* args, void* stream) {
  return mqa::run(args, mqa::launch_cache_write, stream);
}

mqa_status mqa_cache_gather(const mqa_cache_gather_args* args, void* stream) {
  return mqa::run(args, mqa::launch_cache_gather, stream);
}
