// The hardware's meter: events round as many launches as 100 us need, inputs rotated through arenas larger
// than twice the last-level cache, so that keys come from memory as they do in production.
#include "fuzz/device_memory.hpp"
#include "tune/call.hpp"
#include "tune/cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace mqalab {
namespace {

constexpr double kLeastTimedMicroseconds = 100;
constexpr int64_t kRotatedBytes = int64_t{640}
                                  << 20; // twice the 256 MB of MI300X's Infinity Cache, and a bit
constexpr int64_t kMostArenas = 256;
constexpr int kMostLaunches = 64;

struct Arena {
  DeviceInputs inputs;
  GuardedWords logits;
};

class EventMeter final : public CostMeter {
public:
  explicit EventMeter(const Case& problem) : problem_(resolve(problem)) {
    const Tensors tensors = generate(problem_, {Lane::numeric, Pattern::general, 1, {}});
    const auto bytes = static_cast<int64_t>(compulsory_bytes(problem_)) + 1;
    const int64_t count = std::clamp<int64_t>(kRotatedBytes / bytes + 1, 2, kMostArenas);
    for (int64_t i = 0; i < count; ++i) {
      arenas_.push_back(std::make_unique<Arena>());
      arenas_.back()->inputs.upload(problem_, tensors);
      arenas_.back()->logits.resize(logits_bytes(problem_) / 4);
    }
    cold_ = count * bytes >= kRotatedBytes;
    require(hipEventCreate(&begin_), "hipEventCreate");
    require(hipEventCreate(&end_), "hipEventCreate");
  }
  ~EventMeter() override {
    static_cast<void>(hipEventDestroy(begin_));
    static_cast<void>(hipEventDestroy(end_));
  }

  double microseconds(const Candidate& candidate) override {
    double once = timed(candidate, 1);
    const int launches =
        std::clamp(static_cast<int>(std::ceil(kLeastTimedMicroseconds / once)), 1, kMostLaunches);
    if (launches > 1) once = timed(candidate, launches) / launches;
    note_ = fmt::format("measured over {} launches", launches);
    return once;
  }
  std::string note() const override { return note_; }
  std::string origin() const override { return "measured"; }
  std::string policy() const override { return cold_ ? "cold" : "hot"; }
  bool deterministic() const override { return false; }

private:
  void start(const Candidate& candidate) {
    std::string why;
    const mqa::DeviceFacts* device = mqa::device_facts(&why);
    Arena& arena = *arenas_[next_++ % arenas_.size()];
    const LogitsCall call = device_call(arena.inputs, problem_, arena.logits.floats());
    mqa::LaunchConfig config{};
    if (!device || resolve_config(call, candidate.config, *device, &config, &why) != MQA_OK)
      throw DeviceError(why);
    const mqa::LaunchFn launcher =
        candidate.fault ? candidate.fault->launch.logits : &mqa::launch_paged_logits;
    require(launcher(prepare(call, config, *device), config, nullptr), "kernel launch");
  }

  double timed(const Candidate& candidate, int launches) {
    require(hipEventRecord(begin_, nullptr), "hipEventRecord");
    for (int i = 0; i < launches; ++i) start(candidate);
    require(hipEventRecord(end_, nullptr), "hipEventRecord");
    require(hipEventSynchronize(end_), "hipEventSynchronize");
    float milliseconds = 0;
    require(hipEventElapsedTime(&milliseconds, begin_, end_), "hipEventElapsedTime");
    if (!(milliseconds > 0))
      throw DeviceError("a launch was timed at 0 us or less: the device's timer is not usable");
    return milliseconds * 1e3;
  }

  Problem problem_;
  std::vector<std::unique_ptr<Arena>> arenas_;
  size_t next_ = 0;
  bool cold_ = false;
  hipEvent_t begin_ = nullptr, end_ = nullptr;
  std::string note_;
};

} // namespace

std::unique_ptr<CostMeter> cost_meter(const Case& problem) { return std::make_unique<EventMeter>(problem); }

} // namespace mqalab
