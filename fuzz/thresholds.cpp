#include "fuzz/thresholds.hpp"
#include "fuzz/boundaries.hpp"

#include <algorithm>

namespace mqalab {
namespace {

constexpr int64_t kSigned32 = int64_t{1} << 31, kUnsigned32 = int64_t{1} << 32;
constexpr int64_t kMostRowsLooked = 64;
constexpr int32_t kMostScheduledAtOnce = 256; // sequences of which a schedule adds up the chunks in one step

// volatile: a compare whose result nobody needs must not be folded away.
struct Tally {
  volatile int crossed = 0;
  void at(bool beyond) { crossed = crossed + beyond; }
};

void row_thresholds(Tally& tally, const Problem& p, const mqa_config& config, int64_t row) {
  const int64_t context = p.context_lens[static_cast<size_t>(p.lens_per_row ? row : row / p.next_n)];
  const int64_t limit = p.limit(row), chunk = std::max(config.chunk_k, 64),
                splits = std::max(config.split_kv, 1);
  const int64_t chunks = (limit + chunk - 1) / chunk;
  tally.at(context < p.next_n);
  tally.at(limit == p.max_model_len);
  tally.at(limit > p.block_size);
  tally.at(limit % chunk == 0);
  tally.at(limit % chunk == 1);
  tally.at(limit % p.block_size == 0);
  tally.at(chunks < splits);
  tally.at(chunks == splits);
  tally.at(chunks % splits == 0);
  tally.at(limit < kIndexTopk);
  tally.at(limit == kIndexTopk + 1);
  tally.at(row * p.logits_stride * 4 >= kSigned32);
  tally.at(row * p.logits_stride * 4 >= kUnsigned32);
  tally.at(row * p.weights_stride * 4 >= kSigned32);
  tally.at(limit - p.first(row) <= p.k);
  tally.at(limit - p.first(row) == p.k + 1);
  tally.at(p.first(row) == limit);
  tally.at(p.first(row) % chunk == 0);
  tally.at(row * p.indices_stride * 4 >= kSigned32);
}

} // namespace

int thresholds_crossed(const Problem& p, const mqa_config& launched) {
  Tally tally;
  const int64_t count = p.rows();
  for (int64_t row = 0; row < std::min(count, kMostRowsLooked); ++row)
    row_thresholds(tally, p, launched, row);
  if (count > kMostRowsLooked) row_thresholds(tally, p, launched, count - 1);
  tally.at(p.num_blocks * p.kv_block_stride_bytes >= kSigned32);
  tally.at(p.num_blocks * p.kv_block_stride_bytes >= kUnsigned32);
  tally.at((p.batch - 1) * p.q_stride_batch >= kSigned32);
  tally.at((p.heads - 1) * p.logits_stride_head * 4 >= kSigned32);
  tally.at(p.batch > kMostScheduledAtOnce);
  tally.at(p.heads % 16 == 0);
  tally.at(p.heads % 8 == 0);
  tally.at(int64_t{p.next_n} * p.heads * p.head_dim > 48 << 10);
  tally.at(p.max_model_len % 256 == 0);
  return tally.crossed;
}

} // namespace mqalab
