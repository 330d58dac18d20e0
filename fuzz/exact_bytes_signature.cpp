// How and where bytes are wrong.  As for logits a pattern is voted for by a sample, nine in ten.
#include "fuzz/exact_bytes.hpp"
#include "refimpl/fp8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <unordered_map>

namespace mqalab {
namespace {

constexpr size_t kSample = 64;
constexpr size_t kShown = 8;

std::vector<BadByte> sample_of(std::span<const BadByte> all) {
  std::vector<BadByte> sample;
  const size_t count = std::min(all.size(), kSample);
  for (size_t i = 0; i < count; ++i) sample.push_back(all[i * all.size() / count]);
  return sample;
}
template <class Predicate> bool most(const std::vector<BadByte>& sample, Predicate holds) {
  return 10 * static_cast<size_t>(std::count_if(sample.begin(), sample.end(), holds)) >= 9 * sample.size();
}

bool is_scale(const BadByte& b) { return b.due && b.due->count == 4; }

uint32_t word_of(const DueBytes& due, size_t index) {
  uint32_t word;
  std::memcpy(&word, due.bytes.data() + index, sizeof word);
  return word;
}
float got_scale(const BadByte& b) { return std::bit_cast<float>(b.word); }
float due_scale(const BadByte& b) { return std::bit_cast<float>(word_of(*b.due, 0)); }

// The words that are due somewhere and where first, without those that a plain fill would give as well.
struct DuePlace {
  int64_t row;
  int32_t column;
  bool scale;
};
// Of a byte that is due: its token, in the order of the sequences, and what of it.
std::string token_text(int64_t token, int64_t dim, bool scale) {
  return scale ? fmt::format("token {} scale", token) : fmt::format("token {} dim {}", token, dim);
}
using DueWords = std::unordered_map<uint32_t, DuePlace>;
DueWords due_words(const ByteOutput& output) {
  DueWords words;
  for (const DueBytes& due : output.due)
    for (int32_t i = 0; i + 4 <= due.count; i += 4) {
      const uint32_t word = word_of(due, static_cast<size_t>(i));
      if (word != (word & 0xff) * 0x01010101u)
        words.try_emplace(word, DuePlace{due.row, due.column + i, due.count == 4});
    }
  return words;
}

// One ratio for all scales, a power of two; 0: there is none.
double common_ratio(const std::vector<BadByte>& sample) {
  const double ratio = got_scale(sample.front()) / due_scale(sample.front());
  int exponent;
  if (!std::isfinite(ratio) || std::frexp(ratio, &exponent) != 0.5) return 0;
  return most(sample, [&](auto& b) { return got_scale(b) / due_scale(b) == ratio; }) ? ratio : 0;
}
std::string scale_pattern(const std::vector<BadByte>& sample) {
  const double ratio = common_ratio(sample);
  if (ratio == 0) return "scale";
  return ratio >= 1 ? fmt::format("scale ratio {}", ratio) : fmt::format("scale ratio 1/{}", 1 / ratio);
}

bool is_neighbour(const BadByte& b) {
  const int got = b.got() & 0x7f, due = b.expected() & 0x7f;
  return (b.got() & 0x80) == (b.expected() & 0x80) && std::abs(got - due) == 1;
}

// All values twice or half as large: a code more or less in the exponent.  A byte in e4m3fnuz is half of what
// it is in e4m3fn.
std::string code_ratio(const Problem& p, const std::vector<BadByte>& sample) {
  for (const int step : {8, -8})
    if (most(sample, [&](auto& b) { return !is_scale(b) && int{b.got()} - int{b.expected()} == step; }))
      return fmt::format("ratio {}{}", step > 0 ? "2" : "1/2",
                         (step > 0) == (p.fp8 == MQA_E4M3FNUZ) ? ", as the other FP8 flavour gives" : "");
  return "";
}

std::string value_pattern(const Problem& p, const DueWords& words, std::span<const BadByte> bad) {
  const std::vector<BadByte> sample = sample_of(bad);
  if (most(sample, [](auto& b) { return b.got() == 0; })) return "zero";
  if (most(sample, [&](auto& b) { return words.contains(b.word); })) return "displaced";
  if (std::all_of(bad.begin(), bad.end(), is_scale)) return scale_pattern(sample);
  if (std::any_of(bad.begin(), bad.end(), is_scale)) return "value byte and scale";
  if (auto ratio = code_ratio(p, sample); !ratio.empty()) return ratio;
  return most(sample, is_neighbour) ? "neighbouring code" : "value byte";
}

std::string pattern_of_bytes(const Problem& p, const DueWords& words, const ByteJudgement& j) {
  if (j.verdict == VerdictClass::value) return value_pattern(p, words, j.bad);
  if (j.verdict != VerdictClass::touched) return std::string(name(j.verdict));
  return most(sample_of(j.bad), [&](auto& b) { return words.contains(b.word); }) ? "foreign slot" : "written";
}

// Row and column, and the same in words.  Of a byte that must not be written: block and byte in the block of
// a cache, else row and element of the output.
struct Place {
  int64_t row, column;
  std::string region, where, note;
};
std::string unwanted(const BadByte& b) { return fmt::format("must not be written, holds 0x{:02x}", b.got()); }
Place place_in_cache(const Problem& p, const BadByte& b) {
  const int64_t block = b.offset_bytes / p.kv_block_stride_bytes,
                inside = b.offset_bytes % p.kv_block_stride_bytes;
  const bool padding = inside >= int64_t{p.block_size} * (p.head_dim + 4);
  return {block, inside, padding ? "padding" : "another slot", fmt::format("block {} byte {}", block, inside),
          unwanted(b)};
}
// Of a byte that is due.
std::string note_of(VerdictClass kind, const BadByte& b) {
  if (kind == VerdictClass::untouched) return "never written";
  if (kind == VerdictClass::stale) return "an earlier launch's prefill";
  return is_scale(b) ? "" : fmt::format("code 0x{:02x} instead of 0x{:02x}", b.got(), b.expected());
}
Place place_of(const Problem& p, const ByteOutput& output, VerdictClass kind, const BadByte& b) {
  if (b.due) {
    const bool scale = is_scale(b);
    const int64_t column = b.due->column + (scale ? 0 : b.offset_bytes - b.due->offset_bytes);
    return {b.due->row, column, scale ? "scales" : "values", token_text(b.due->row, column, scale),
            note_of(kind, b)};
  }
  if (p.op != Operation::cache_gather) return place_in_cache(p, b);
  const bool scales = output.name == "scales";
  const int64_t stride = scales ? 4 * p.key_scales_stride : p.keys_stride;
  const int64_t row = b.offset_bytes / stride, inside = b.offset_bytes % stride;
  return {row, inside, "padding", fmt::format("row {} byte {}", row, inside), unwanted(b)};
}

std::string region_of_bytes(const Problem& p, const ByteOutput& output, const ByteJudgement& j) {
  std::string region;
  for (const BadByte& b : j.bad) {
    const std::string here = place_of(p, output, j.verdict, b).region;
    if (region.empty()) region = here;
    if (here != region) return j.bad.front().due ? "values and scales" : "padding and other slots";
  }
  return region;
}

BadCell cell_of(const Problem& p, const ByteOutput& output, VerdictClass kind, const BadByte& b) {
  const Place place = place_of(p, output, kind, b);
  BadCell cell{place.row, place.column, 0, std::nan(""), 0, place.note, place.where};
  if (is_scale(b))
    cell.got = got_scale(b), cell.expected = due_scale(b);
  else
    cell.got = static_cast<float>(decode_fp8(p.fp8, b.got())),
    cell.expected = b.due ? decode_fp8(p.fp8, b.expected()) : NAN;
  return cell;
}

} // namespace

Verdict explain_bytes(const Problem& p, const ByteOutput& output, const ByteJudgement& j) {
  const DueWords words = due_words(output);
  Verdict v;
  v.verdict = j.verdict, v.cells_checked = j.bytes_checked, v.cells_bad = j.bytes_bad;
  v.signature = {j.verdict, pattern_of_bytes(p, words, j), region_of_bytes(p, output, j)};
  for (const BadByte& b : j.bad) {
    if (v.first_bad.size() == kShown) break;
    BadCell cell = cell_of(p, output, j.verdict, b);
    if (v.signature.pattern == "displaced" || v.signature.pattern == "foreign slot")
      if (const auto from = words.find(b.word); from != words.end())
        cell.note += fmt::format("{}holds what is due at {}", cell.note.empty() ? "" : "; ",
                                 token_text(from->second.row, from->second.column, from->second.scale));
    const bool seen = !v.first_bad.empty() && v.first_bad.back().row == cell.row &&
                      v.first_bad.back().column == cell.column;
    if (!seen) v.first_bad.push_back(cell); // a scale has four bytes
  }
  const BadCell& first = v.first_bad.front();
  v.message = fmt::format(
      "{}: {} of {} bytes of the {} are wrong: {}, in {}. First: {}, expected {}, got {}{}{}",
      name(v.verdict), v.cells_bad, v.cells_checked, output.name, v.signature.pattern, v.signature.region,
      place_text(first), j.bad.front().due ? shown(first.expected) : "no write", shown(first.got),
      first.note.empty() ? "" : "; ", first.note);
  return v;
}

} // namespace mqalab
