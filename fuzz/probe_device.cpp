// The probe on the device at hand, and which unit is whose.
#include "fuzz/device.hpp"
#include "fuzz/probe_launch.hpp"

#include <fmt/format.h>

#include <array>
#include <map>
#include <mutex>
#include <utility>

namespace mqalab {
namespace {

std::vector<float> sums_on_device(Unit unit, std::span<const FusedDot> dots) {
  DeviceBuffer in, out;
  std::vector<float> sums(dots.size());
  const auto bytes = static_cast<int64_t>(sums.size() * sizeof(float));
  in.resize(static_cast<int64_t>(dots.size_bytes())), out.resize(bytes);
  in.upload(0, dots.data(), in.size());
  apply_stress({});
  require(launch_probe(unit, reinterpret_cast<const FusedDot*>(in.data()),
                       reinterpret_cast<float*>(out.data()), static_cast<int>(dots.size())),
          "the probe's launch");
  require(hipDeviceSynchronize(), "the probe's kernel");
  out.download(0, sums.data(), bytes);
  return sums;
}

#ifdef MQA_PLATFORM_NVIDIA
constexpr Unit kUnits[] = {Unit::mma_fp16, Unit::wgmma_fp8, Unit::vector_fma};
#else
constexpr Unit kUnits[] = {Unit::mfma_fp8, Unit::vector_fma};
#endif

} // namespace

std::string_view name(Unit unit) {
  constexpr std::array<std::string_view, 4> kNames{"vector fma", "mfma 16x16x32 fp8",
                                                   "mma.sync m16n8k16 fp16", "wgmma k32 e4m3"};
  return kNames[static_cast<size_t>(unit)];
}

UnitShape shape_of(Unit unit) {
  return unit == Unit::mma_fp16 ? UnitShape{Operands::half, 16} : UnitShape{Operands::fp8, 32};
}

std::span<const Unit> units() { return kUnits; }

Unit unit_of(int32_t variant) {
  if (variant == MQA_VARIANT_GENERAL) return Unit::vector_fma;
#ifdef MQA_PLATFORM_NVIDIA
  return variant == MQA_VARIANT_WGMMA ? Unit::wgmma_fp8 : Unit::mma_fp16;
#else
  return Unit::mfma_fp8;
#endif
}

UnitReport probe(Unit unit) {
  UnitReport report;
  report.unit = unit;
  try {
    report.answers =
        ask(shape_of(unit), [unit](std::span<const FusedDot> dots) { return sums_on_device(unit, dots); });
    report.found = classify(shape_of(unit), *report.answers);
  } catch (const std::runtime_error& error) {
    report.found.reason = error.what();
  }
  return report;
}

const UnitReport& probed(Unit unit) {
  static std::mutex mutex;
  static std::map<std::pair<int, Unit>, UnitReport> known;
  int device = -1; // stays when the runtime does not say: then the probe fails, too
  (void)hipGetDevice(&device);
  const std::scoped_lock lock(mutex);
  const auto [entry, fresh] = known.try_emplace({device, unit});
  if (fresh) {
    entry->second = probe(unit);
    if (entry->second.found.accumulation == Accumulation::loosest)
      fmt::print(stderr, "probe: {}: {}; its results are judged by the loosest bound\n", name(unit),
                 entry->second.found.reason);
  }
  return entry->second;
}

} // namespace mqalab
