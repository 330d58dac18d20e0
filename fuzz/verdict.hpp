// What a check says: the class of the verdict, the first bad cells, and the signature that makes two findings
// one bug.
#pragma once
#include "kernels/mqa.h"

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mqalab {

enum class VerdictClass : uint8_t {
  ok,          // every cell keeps its contract and its bound
  untouched,   // a promised cell still holds this launch's prefill
  stale,       // ... or an earlier prefill
  touched,     // a cell was written that must not be, or an input changed
  guard,       // the zone before or behind the logits was written
  wrong_class, // NaN, an infinity or a number where another of these is due
  value,       // a number too far from the reference
  read,        // the result depends on something outside the read set
  relation,    // a launch that must give the same bits, or the same in a known place or scale, does not
               // (relation.hpp)
  unstable,    // other bits on another launch
  fault,       // the device or the library refused a legal launch
  hang,        // no answer in time
  rejected,    // refused cleanly: an illegal case, or a configuration that this build lacks
  none         // no verdict: machine trouble, or a case beyond the lab's limits
};
inline constexpr size_t kVerdictClasses = static_cast<size_t>(VerdictClass::none) + 1;
std::string_view name(VerdictClass);
// ok and rejected are not findings; none is no verdict (machine trouble).
bool is_finding(VerdictClass);

// A number for people; NaNs without a sign.
std::string shown(double);

struct BadCell {
  int64_t row = 0, column = 0;
  float got = 0;
  double expected = 0, bound = 0;
  std::string note; // "equals row 0 column 3", "slot 5 of block 0 instead of block 16384", ...
  // In the words of an output that has no columns: "row 0 position 3" of a selection, "token 3 dim 16",
  // "block 1 byte 40".  Empty: row and column say it.
  std::string where = {};
};
std::string place_text(const BadCell&);

// What makes two findings the same bug (fuzzing.md, section 8).  Pattern and region are words of a fixed
// list. What follows a comma in the pattern explains it and may change while a case shrinks: "ratio 2, as the
// other FP8 flavour of q or k gives".
struct Signature {
  VerdictClass verdict = VerdictClass::ok;
  std::string
      pattern; // untouched, zero, ratio 2, displaced slot, -inf where value, small numeric, garbage, ...
  std::string
      region; // all, single, rows from, columns from, last chunk, split tail, periodic, scattered, ...
  // Of what ran: "scheduled, several splits, chunk 128".  Empty: nothing did, or it has no configurations.
  std::string configuration = {};
  auto operator<=>(const Signature&) const = default;
  std::string text() const;
};
// The same verdict class and pattern, without what explains the pattern.  The region is left out, because in
// a small case "all" and "single" are one; the configuration is, because the minimiser brings it to its
// default as long as the bug stays, and a bug of every configuration is one bug.
bool same_bug(const Signature&, const Signature&);
// The pattern up to its first comma.
std::string_view kind_of_pattern(std::string_view pattern);
std::string configuration_class(const mqa_config& launched);

struct Verdict {
  VerdictClass verdict = VerdictClass::ok;
  std::string message; // one or two lines for people
  Signature signature;
  std::vector<BadCell> first_bad; // at most 8
  int64_t cells_checked = 0, cells_bad = 0;
  double worst_error_ratio = 0; // largest error/bound where numbers are judged by a bound
  mqa_choice launched{};        // the configuration that ran
  std::string
      accumulation;   // class of the matrix unit's arithmetic that numbers were judged by; empty: none were
  double recall = -1; // of selections: the worst row's share of the reference's; -1: nothing was selected
};
std::string to_json(const Verdict&, int indent = 2);
// What to_json wrote; throws std::runtime_error for anything else.
Verdict verdict_from_json(const std::string&);

} // namespace mqalab
