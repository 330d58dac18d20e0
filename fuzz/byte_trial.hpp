// A trial whose outputs are bytes, each of them defined: the oracle's order of questions (oracle.hpp) over
// the judgement of exact_bytes.hpp.
#pragma once
#include "fuzz/exact_bytes.hpp"
#include "fuzz/guards.hpp"
#include "fuzz/trials.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

namespace mqalab {

// One case of an operation.  Output i lives in TrialMemory::outputs[i].
class ByteTrial {
public:
  virtual ~ByteTrial() = default;
  virtual const Problem& problem() const = 0;
  virtual const std::vector<ByteOutput>& outputs() const = 0;
  virtual int64_t output_bytes(size_t output) const = 0;
  // Of one wave: far more than an honest one needs.
  virtual int64_t most_instructions() const = 0;
  virtual void upload(bool other_poison) = 0;
  virtual LaunchResult launch(const Fault*) = 0;
  // The input that the last launch wrote into.
  virtual std::optional<ChangedInput> changed_input() const = 0;
};

// Starts a planted fault's launcher of this operation; nullptr: the fault is planted in another one.
template <class Args>
LaunchResult start_planted(const Fault& fault, hipError_t (*launcher)(const Args&, hipStream_t),
                           const Args& args) {
  if (launcher) return started(launcher(args, nullptr), fault);
  return planted_elsewhere(fault);
}

Verdict run_trial(TrialMemory&, ByteTrial&, const Fault*, const OracleOptions&);

} // namespace mqalab
