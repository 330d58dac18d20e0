#include "fuzz/exact_bytes.hpp"

#include "fuzz/sentinel.hpp"

#include <algorithm>

namespace mqalab {
namespace {

constexpr int64_t kWatchedWhole_bytes = 1 << 20;
constexpr int64_t kNeighbourhood_bytes = 256;
constexpr size_t kMostBad = 1 << 16;
constexpr VerdictClass kOrder[] = {VerdictClass::untouched, VerdictClass::stale, VerdictClass::touched,
                                   VerdictClass::value};

uint8_t byte_of(uint32_t word, int64_t index) { return static_cast<uint8_t>(word >> 8 * index); }

// Walks the due bytes in step with the words of a window.
class Scan {
public:
  Scan(const ByteOutput& output, const ByteCells& cells) : output_(output), cells_(cells) {}

  ByteJudgement run() {
    for (const Window& w : output_.windows)
      for (int64_t word = w.begin; word < w.end; ++word)
        look(word, cells_.words[static_cast<size_t>(w.first + word - w.begin)]);
    ByteJudgement j;
    for (const Window& w : output_.windows) j.bytes_checked += 4 * w.size();
    j.bytes_bad = count_;
    for (size_t i = 0; i < std::size(kOrder) && j.bad.empty(); ++i)
      if (!found_[i].empty()) j.verdict = kOrder[i], j.bad = std::move(found_[i]);
    return j;
  }

private:
  // Which due bytes a word has; pieces are at least four bytes long, so a word meets two of them at most.
  std::array<const DueBytes*, 4> due_in(int64_t word) {
    std::array<const DueBytes*, 4> due{};
    while (next_ < output_.due.size() && end_of(output_.due[next_]) <= 4 * word) ++next_;
    for (size_t piece = next_; piece < output_.due.size() && output_.due[piece].offset_bytes < 4 * word + 4;
         ++piece)
      for (int64_t i = 0; i < 4; ++i) {
        const int64_t at = 4 * word + i;
        if (at >= output_.due[piece].offset_bytes && at < end_of(output_.due[piece]))
          due[i] = &output_.due[piece];
      }
    return due;
  }
  static int64_t end_of(const DueBytes& d) { return d.offset_bytes + d.count; }

  void look(int64_t word, uint32_t got) {
    const uint32_t prefill = sentinel(cells_.salt, word);
    const std::array<const DueBytes*, 4> due = due_in(word);
    bool wrong = false;
    for (int64_t i = 0; i < 4; ++i) {
      const BadByte b{4 * word + i, due[i], got};
      if (!due[i] && b.got() != byte_of(prefill, i)) report(VerdictClass::touched, b);
      if (due[i] && b.got() != b.expected()) wrong = true;
    }
    if (wrong) report_due(word, got, due);
  }
  void report_due(int64_t word, uint32_t got, const std::array<const DueBytes*, 4>& due) {
    const auto holds = [&](uint64_t salt) {
      for (int64_t i = 0; i < 4; ++i)
        if (due[i] && byte_of(got, i) != byte_of(sentinel(salt, word), i)) return false;
      return true;
    };
    const bool stale = std::any_of(cells_.old_salts.begin(), cells_.old_salts.end(), holds);
    const VerdictClass kind = holds(cells_.salt) ? VerdictClass::untouched
                              : stale            ? VerdictClass::stale
                                                 : VerdictClass::value;
    for (int64_t i = 0; i < 4; ++i) {
      const BadByte b{4 * word + i, due[i], got};
      if (due[i] && b.got() != b.expected()) report(kind, b);
    }
  }
  void report(VerdictClass kind, const BadByte& b) {
    ++count_;
    auto& list = found_[static_cast<size_t>(std::find(std::begin(kOrder), std::end(kOrder), kind) - kOrder)];
    if (list.size() < kMostBad) list.push_back(b);
  }

  const ByteOutput& output_;
  const ByteCells& cells_;
  size_t next_ = 0;
  std::array<std::vector<BadByte>, std::size(kOrder)> found_{};
  int64_t count_ = 0;
};

} // namespace

std::vector<Window> watched_bytes(int64_t bytes, std::span<const ByteRange> ranges) {
  std::vector<ByteRange> wanted;
  const auto add = [&](int64_t begin, int64_t end) {
    begin = std::max<int64_t>(begin, 0) / 4, end = std::min((end + 3) / 4, (bytes + 3) / 4);
    if (begin < end) wanted.push_back({begin, end});
  };
  if (bytes <= kWatchedWhole_bytes) {
    add(0, bytes);
  } else {
    add(0, kNeighbourhood_bytes);
    for (const ByteRange& r : ranges) {
      add(r.begin - kNeighbourhood_bytes, r.end + kNeighbourhood_bytes);
      for (const int64_t modulus_bytes : {int64_t{1} << 31, int64_t{1} << 32})
        if (r.end > modulus_bytes) add(r.begin % modulus_bytes, r.begin % modulus_bytes + r.end - r.begin);
    }
  }
  std::vector<Window> windows;
  int64_t cells = 0;
  for (const ByteRange& r : joined(std::move(wanted))) {
    windows.push_back({r.begin, r.end, cells});
    cells += r.end - r.begin;
  }
  return windows;
}

ByteJudgement judge_bytes(const ByteOutput& output, const ByteCells& cells) {
  return Scan(output, cells).run();
}

} // namespace mqalab
