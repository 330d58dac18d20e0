// Which configurations to time how often: sequential halving over interleaved rounds (reference: 0.05 to 0.2
// % regret at two to three launches a configuration, also under drift).  Knows no device: time(i) is all it
// asks.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

namespace mqalab {

struct Timing {
  size_t contender;
  int64_t round;
  double microseconds;
};

struct HalvingOptions {
  size_t default_index = 0; // never dropped
  uint64_t seed = 1;        // of the orders
  size_t eta = 4;           // one in eta survives a stage
  size_t keep = 8, finalists = 3;
  int final_rounds = 16;
  double hopeless = 5; // dropped at once when so many times slower than the fastest
};

// time: one timed launch of a contender, in microseconds.  on_round: that round's timings, to be committed;
// false stops. Returns every timing.
std::vector<Timing> halve(size_t contenders, const HalvingOptions&, const std::function<double(size_t)>& time,
                          const std::function<bool(const std::vector<Timing>&)>& on_round);

} // namespace mqalab
