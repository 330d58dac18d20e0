// See model.hpp.  Time = launch + the largest of four terms: memory traffic, instruction issue on the busiest
// CU, the latency chain of the longest block times the rounds of blocks, and L1 traffic.
#include "tune/model.hpp"

#include <algorithm>
#include <cmath>

namespace mqalab {
namespace {

// CDNA3.
constexpr double kSimds = 4, kRegisters = 512, kMostWaves = 8, kLdsBytes = 65536;
constexpr double kValuCycles = 4, kTransCycles = 16, kIssueCycles = 4, kMultiplyAddsPerCycle = 512;
constexpr double kLdsBytesPerCycle = 128, kL1BytesPerCycle = 64;
// Of a memory access, and how many a wave keeps in flight.
constexpr double kLatencyCycles = 1500, kLoadsInFlight = 8, kBytesPerLoad = 64 * 16;
constexpr double kHbmEfficiency = 0.85, kLaunchMicroseconds = 2.5;
constexpr double kBlockStartCycles = 600;

struct Occupancy {
  double blocks_per_cu, waves_per_simd, slots, rounds;
};

double rounded_up(double value, double unit) { return std::ceil(value / unit) * unit; }

Occupancy occupancy(const LaunchCounts& c, const DeviceModel& device) {
  const double waves_per_block = std::max(1.0, c.threads_per_block / 64.0);
  const double by_registers =
      std::min(kMostWaves, std::floor(kRegisters / rounded_up(std::max(c.vgprs, 8), 8)));
  const double by_lds = c.lds_per_block > 0 ? std::floor(kLdsBytes / rounded_up(c.lds_per_block, 512)) : 1e9;
  Occupancy o;
  o.blocks_per_cu = std::max(1.0, std::min(by_lds, std::floor(kSimds * by_registers / waves_per_block)));
  o.slots = device.compute_units * o.blocks_per_cu;
  o.rounds = std::ceil(c.blocks / o.slots);
  const double resident = std::min(o.blocks_per_cu, std::ceil(c.blocks / device.compute_units));
  o.waves_per_simd = std::max(1.0, resident * waves_per_block / kSimds);
  return o;
}

struct WaveCycles {
  double busiest_unit, all_units; // issue cycles of an average wave
};

WaveCycles wave_cycles(const LaunchCounts& c) {
  const double vector = (c.valu * kValuCycles + c.trans * kTransCycles) / c.waves;
  const double matrix = c.mfma_multiply_adds / kMultiplyAddsPerCycle / c.waves;
  const double scalar = c.scalar * kIssueCycles / c.waves;
  const double local = (c.lds * kIssueCycles + c.lds_bytes * kSimds / kLdsBytesPerCycle) / c.waves;
  const double memory = (c.vmem_load + c.vmem_store) * kIssueCycles / c.waves;
  return {std::max({vector, matrix, scalar, local, memory}),
          vector + matrix + scalar + local + memory + c.other * kIssueCycles / c.waves};
}

// The more waves a SIMD holds, the more of the units' work overlaps.
double issue_cycles(const LaunchCounts& c, const WaveCycles& wave, const Occupancy& o,
                    const DeviceModel& device) {
  const double waves_per_block = c.waves / c.blocks;
  const double per_wave = wave.busiest_unit + (wave.all_units - wave.busiest_unit) / o.waves_per_simd;
  const double busiest_cu = std::ceil(c.blocks / device.compute_units);
  return busiest_cu * per_wave * waves_per_block / std::min(kSimds, busiest_cu * waves_per_block);
}

// One wave after the other's end, from start to the last store; the last round waits for the longest block.
double latency_cycles(const LaunchCounts& c, const WaveCycles& wave, const Occupancy& o) {
  const double loads = c.vmem_load / c.waves;
  const double chain = wave.all_units + loads * kLatencyCycles / kLoadsInFlight;
  const double average = c.instructions / c.blocks;
  const double longest = average > 0 ? std::max(1.0, c.max_block_instructions / average) : 1;
  return (kBlockStartCycles + kLatencyCycles) * o.rounds + chain * (o.rounds - 1 + longest);
}

double memory_seconds(const LaunchCounts& c, const Occupancy& o, const DeviceModel& device) {
  const double resident_waves = std::min(c.blocks, o.slots) * c.waves / c.blocks;
  const double in_flight = resident_waves * kBytesPerLoad * kLoadsInFlight;
  const double needed = device.hbm_bytes_per_second * kLatencyCycles / device.hertz;
  return c.hbm_bytes / (device.hbm_bytes_per_second * kHbmEfficiency * std::min(1.0, in_flight / needed));
}

} // namespace

LaunchCounts LaunchCounts::scaled(double factor) const {
  LaunchCounts c = *this;
  for (double* count :
       {&c.blocks, &c.waves, &c.instructions, &c.valu, &c.trans, &c.scalar, &c.lds, &c.vmem_load,
        &c.vmem_store, &c.other, &c.mfma_multiply_adds, &c.lds_bytes, &c.vmem_bytes, &c.hbm_bytes})
    *count *= factor;
  return c;
}

DeviceModel mi300_like(int32_t compute_units) {
  // MI300X (304 CUs) and MI300A (228) have all of the memory; a partition has its share.
  return {compute_units, 2.1e9, 5.3e12 * std::min(1.0, compute_units / 228.0)};
}

Cost model_cost(const LaunchCounts& c, const DeviceModel& device) {
  if (!(c.blocks > 0) || !(c.waves > 0)) return {kLaunchMicroseconds, "latency", 0, 0};
  const Occupancy o = occupancy(c, device);
  const WaveCycles wave = wave_cycles(c);
  struct Term {
    double seconds;
    std::string_view name;
  };
  const Term terms[] = {
      {memory_seconds(c, o, device), "memory"},
      {issue_cycles(c, wave, o, device) / device.hertz, "issue"},
      {latency_cycles(c, wave, o) / device.hertz, "latency"},
      {c.vmem_bytes / (kL1BytesPerCycle * std::min<double>(c.blocks, device.compute_units)) / device.hertz,
       "cache"}};
  const Term& largest = *std::max_element(std::begin(terms), std::end(terms),
                                          [](const Term& a, const Term& b) { return a.seconds < b.seconds; });
  return {kLaunchMicroseconds + largest.seconds * 1e6, largest.name, static_cast<int32_t>(o.waves_per_simd),
          o.rounds};
}

} // namespace mqalab
