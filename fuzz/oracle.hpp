// The oracle: runs one case on the device and judges it.  The order of questions is oracle.md, section 1: did
// it run, written set, guard zones, classes, numbers, read set, repeatability; the first that fails names the
// verdict.
//
// Memory.  Inputs are allocated exactly as long as the contract lets a launch read, so that the simulator,
// which checks every access to the byte, names a stray one.  The logits lie between two guard zones of
// canaries instead: a stray store is then *seen*, with its place, on every device.  Both mechanisms are in
// use in every check.
#pragma once
#include "fuzz/case.hpp"
#include "fuzz/fault.hpp"
#include "fuzz/policy.hpp"
#include "fuzz/relation.hpp"
#include "fuzz/verdict.hpp"

#include <memory>
#include <string>
#include <vector>

namespace mqalab {

struct OracleOptions {
  int repeats = 1;             // launches compared bitwise; the first is judged
  bool second_sentinel = true; // run again with a different prefill: tells untouched from equal by chance
  bool read_set = true;        // run again with the other poison and compare bitwise
  bool stress_lds = true;      // simulator: poison and check LDS, shuffle blocks and waves from a seed
  // Logits are judged as those too large for the host are (docs/large.md), whatever their size.
  bool large = false;
  // Metamorphic partners: the one that the case draws, none, every one, or a named one.
  enum class Relations : uint8_t { drawn, none, all, named } relations = Relations::drawn;
  Relation relation = Relation::rename_blocks; // when named
};

// Those that reproduce a finding: a shrunk case would draw another relation than the one that failed.
OracleOptions options_for(const Signature& wanted);
// drawn, none, all or a relation's name; nothing for another word.
std::string relations_text(const OracleOptions&);
std::optional<OracleOptions> options_with_relations(std::string_view text);

// What the cells of Oracle::run hold before the launch: a quiet NaN.
inline constexpr uint32_t kRunPrefill = 0x7fc0dead;

// Owns the device side; one per process and thread.
class Oracle {
public:
  Oracle();
  ~Oracle();
  // fault == nullptr: the production kernel through the C API.  The case's own configuration is launched (0
  // fields automatic); no database is asked.
  Verdict check(const Case&, const Fault* fault = nullptr, const OracleOptions& = {});
  // The raw logits, whole rows with padding, prefilled with kRunPrefill: for `mqalab run`.  Empty with *error
  // set when nothing ran.
  std::vector<float> run(const Case&, const Fault* fault, mqa_choice* launched, std::string* error);
  // After a fault on real hardware the process must end: every later check answers `none`.
  bool device_lost() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace mqalab
