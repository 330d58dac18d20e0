#include "fuzz/dictionary.hpp"
#include "fuzz/generator_draws.hpp"

#ifdef MQALAB_SIM
#include <amdsim/control.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace mqalab {
namespace {

constexpr int kFieldPercent = 80, kNearPercent = 15, kLengthPercent = 40;

// What repair() would leave alone, and a check can afford.
struct Range {
  std::string_view field;
  int64_t least, most, multiple;
};
constexpr Range kRanges[] = {
    {"batch", 2, 400, 1},
    {"next_n", 2, 16, 1},
    {"heads", 2, 256, 1},
    {"head_dim", 16, 256, 16},
    {"block_size", 16, 1024, 16},
    {"max_model_len", 2, kMostContext, 1},
    {"num_blocks", 2, 1 << 12, 1},
    {"top_k.k", 2, 4096, 1},
    {"writer.skip_every", 2, 64, 1},
    {"block_table.period", 2, 64, 1},
    {"config.chunk_k", 64, 4096, 64},
    {"config.split_kv", 2, 80, 1},
    {"strides.q[0]", 16, int64_t{1} << 32, 1},
    {"strides.q[1]", 16, int64_t{1} << 32, 1},
    {"strides.q[2]", 16, 1 << 20, 1},
    {"strides.weights", 2, int64_t{1} << 30, 1},
    {"strides.block_table", 2, 1 << 20, 1},
    {"strides.logits", 2, int64_t{1} << 30, 1},
    {"strides.kv_block", 36, int64_t{1} << 32, 4},
    {"strides.keys", 16, 1 << 20, 1},
    {"strides.indices", 2, 1 << 20, 1},
};
constexpr int kStridePercent = 15; // most words are too small for them

bool fits(const Range& r, int64_t word) {
  return word >= r.least && word <= r.most && word % r.multiple == 0;
}

int64_t near(int64_t word, Random& random) {
  return random.chance(kNearPercent) ? word + random.pick({-1, 1}) : word;
}

void draw_length(Case& c, const Words& words, Random& random) {
  Words lengths;
  std::ranges::copy_if(words, std::back_inserter(lengths),
                       [](int64_t word) { return word >= 2 && word <= kMostContext; });
  auto& lens = c.shape.context_lens;
  if (lengths.empty() || lens.empty()) return;
  const auto length = static_cast<int32_t>(near(random.pick(std::span<const int64_t>(lengths)), random));
  if (random.chance(50))
    std::ranges::fill(lens, length);
  else
    lens[static_cast<size_t>(random.between(0, static_cast<int64_t>(lens.size()) - 1))] = length;
  c.shape.max_model_len = std::max<int64_t>(c.shape.max_model_len, length);
}

} // namespace

Words words_for(const Field& f, const Words& words) {
  const auto range = std::ranges::find(kRanges, f.name, &Range::field);
  Words fitting;
  if (range != std::end(kRanges))
    std::ranges::copy_if(words, std::back_inserter(fitting),
                         [&](int64_t word) { return fits(*range, word); });
  return fitting;
}

void draw_words(Case& c, const Words& words, Random& random) {
  for (const Range& range : kRanges) {
    const Field& f = field(range.field);
    if (!has_meaning(c.op, f.name)) continue;
    if (!random.chance(f.group == FieldGroup::strides ? kStridePercent : kFieldPercent)) continue;
    const Words fitting = words_for(f, words);
    if (fitting.empty()) continue;
    const int64_t word = random.pick(std::span<const int64_t>(fitting));
    f.set(c, range.multiple == 1 ? near(word, random) : word);
  }
  if (random.chance(kLengthPercent)) draw_length(c, words, random);
}

#ifdef MQALAB_SIM
KernelWords::KernelWords() { amdsim_collect_compares(1); }
KernelWords::~KernelWords() { amdsim_collect_compares(0); }
const Words& KernelWords::now() {
  Words all(amdsim_compare_constants(nullptr, 0));
  amdsim_compare_constants(all.data(), all.size());
  std::erase_if(all, [](int64_t word) { return std::abs(word) <= 1; });
  return words_ = std::move(all);
}
#else
KernelWords::KernelWords() = default;
KernelWords::~KernelWords() = default;
const Words& KernelWords::now() { return words_; }
#endif

} // namespace mqalab
