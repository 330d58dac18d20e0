// The oracle: runs one case on the device and judges it.  The order of questions is oracle.md, section 1: did it run,
// written set, guard zones, classes, numbers, read set, repeatability; the first that fails names the verdict.
#pragma once
#include "fuzz/case.hpp"
#include "fuzz/fault.hpp"
#include "refimpl/reference.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mqalab {

enum class VerdictClass : uint8_t {
  ok, untouched, stale, touched, guard, wrong_class, value, read, unstable, fault, hang, rejected, none
};
std::string_view name(VerdictClass);
// ok and rejected are not findings; none is no verdict (machine trouble).
bool is_finding(VerdictClass);

struct BadCell {
  int64_t row = 0, column = 0;
  float got = 0;
  double expected = 0, bound = 0;
  std::string note;  // "equals row 0 column 3", "slot 5 of block 0 instead of block 16384", ...
};

// What makes two findings the same bug (fuzzing.md, section 8).
struct Signature {
  VerdictClass verdict = VerdictClass::ok;
  std::string pattern;  // untouched, zero, ratio 2, displaced, -inf where value, small numeric, garbage, ...
  std::string region;   // rows from r0, columns from c0, last chunk, single, scattered, all
  auto operator<=>(const Signature&) const = default;
  std::string text() const;
};

struct Verdict {
  VerdictClass verdict = VerdictClass::ok;
  std::string message;             // one or two lines for people
  Signature signature;
  std::vector<BadCell> first_bad;  // at most 8
  int64_t cells_checked = 0, cells_bad = 0;
  double worst_error_ratio = 0;    // largest error/bound of the numeric lane
  mqa_choice launched{};           // the configuration that ran
};
std::string to_json(const Verdict&, int indent = 2);

struct OracleOptions {
  int repeats = 1;             // launches compared bitwise; the first is judged
  bool second_sentinel = true; // run twice with different prefill: tells untouched from equal by chance
  bool read_set = true;        // run again with the other poison and compare bitwise
  bool stress_lds = true;      // simulator: poison and check LDS
};

// Owns the device side: buffers are allocated exactly (the simulator checks every byte) with guard zones of canaries.
class Oracle {
public:
  Oracle();
  ~Oracle();
  // fault == nullptr: the production kernel through the C API.
  Verdict check(const Case&, const Fault* fault = nullptr, const OracleOptions& = {});
  // The raw logits, whole rows with padding, prefilled with 0x7fc0dead: for `mqalab run`.
  std::vector<float> run(const Case&, const Fault* fault, mqa_choice* launched, std::string* error);
  Policy policy() const;  // of the kernels on this device: NaN rule, scale order, accumulation class

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mqalab
