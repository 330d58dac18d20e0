// Judging outputs whose every byte is defined, without a device: the cache that the writer fills, the keys
// and scales of the gather.  A byte that is due must be what the reference says; every other byte must still
// hold its prefill.
#pragma once
#include "fuzz/verdict.hpp"
#include "fuzz/watch.hpp"
#include "refimpl/sparse_buffer.hpp"

#include <array>
#include <span>
#include <string_view>
#include <vector>

namespace mqalab {

// Due bytes that lie side by side: 16 values of a token, or its scale in column head_dim.
struct DueBytes {
  int64_t offset_bytes = 0, row = 0; // row: the token, in the order of the sequences
  int32_t column = 0, count = 0;
  std::array<uint8_t, 16> bytes{};
};

// An output, as what is due in it and what of it is looked at: windows in 32-bit words, as GuardedWords wants
// them.
struct ByteOutput {
  std::string_view name;     // kv_cache, keys, scales
  std::vector<DueBytes> due; // ascending, disjoint; inside the windows
  std::vector<Window> windows;
};
// Everything of a small output; of a large one the given ranges, with a neighbourhood, and the places where
// their 32-bit byte offsets would land.
std::vector<Window> watched_bytes(int64_t bytes, std::span<const ByteRange>);

// One launch's cells of an output, window after window, and how they were prefilled.
struct ByteCells {
  std::span<const uint32_t> words;
  uint64_t salt;
  std::span<const uint64_t> old_salts;
};

struct BadByte {
  int64_t offset_bytes = 0;
  const DueBytes* due = nullptr; // nullptr: must not be written
  uint32_t word = 0;             // the aligned word that holds it
  uint8_t got() const { return static_cast<uint8_t>(word >> 8 * (offset_bytes % 4)); }
  uint8_t expected() const { return due->bytes[static_cast<size_t>(offset_bytes - due->offset_bytes)]; }
};

struct ByteJudgement {
  VerdictClass verdict = VerdictClass::ok; // untouched, stale, touched, value: the first that has a byte
  std::vector<BadByte> bad;                // of that class, the first 65536
  int64_t bytes_checked = 0, bytes_bad = 0;
};
// A word whose every due byte still holds a prefill counts as not written; one byte alone could do so by
// chance.
ByteJudgement judge_bytes(const ByteOutput&, const ByteCells&);

// The judgement in words: pattern, region, first bad bytes.  It must have some.
Verdict explain_bytes(const Problem&, const ByteOutput&, const ByteJudgement&);

} // namespace mqalab
