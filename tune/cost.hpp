// What a launch costs on the current device: device time between events on hardware, the model in the
// simulator.
#pragma once
#include "fuzz/case.hpp"
#include "tune/space.hpp"

#include <memory>
#include <string>

namespace mqalab {

// One problem, its tensors on the device.  Throws DeviceError when the runtime fails.
class CostMeter {
public:
  virtual ~CostMeter() = default;
  virtual double microseconds(const Candidate&) = 0;
  virtual std::string note() const = 0;   // about the last cost: what bounds it
  virtual std::string origin() const = 0; // measured, modelled
  virtual std::string policy() const = 0; // cold, hot, model
  virtual bool deterministic() const = 0; // one sample says all
};

// The meter that fits the device.
std::unique_ptr<CostMeter> cost_meter(const Case& problem);

// Bytes that any launch must move once: needed keys and scales, queries, weights, table entries, and the
// written set.
double compulsory_bytes(const Problem&);

// Fewer sequences of the same kind, the longest included, so that at most `most_tokens` rows of tokens
// remain.
Case clipped(const Case& problem, int64_t most_tokens);

} // namespace mqalab
