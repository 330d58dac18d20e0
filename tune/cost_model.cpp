// The simulator's meter: launches once, counts what was executed, asks the model.  Odd: a large batch is
// launched with fewer sequences, in the configuration that the whole batch would get, and its counts are
// scaled.
#include "fuzz/logits_output.hpp"
#include "tune/call.hpp"
#include "tune/cost.hpp"
#include "tune/model.hpp"

#include <amdsim/control.h>
#include <fmt/format.h>

namespace mqalab {
namespace {

constexpr int64_t kMostTokens = 1 << 20;

class ModelMeter final : public CostMeter {
public:
  explicit ModelMeter(const Case& problem)
      : whole_(resolve(problem)), part_(resolve(clipped(problem, kMostTokens))),
        factor_(static_cast<double>(whole_.rows()) / static_cast<double>(std::max<int64_t>(1, part_.rows()))),
        output_(memory_, part_) {
    memory_.inputs.upload(part_, generate(part_, {Lane::numeric, Pattern::general, 1, {}}));
    output_.prefill(1);
  }

  double microseconds(const Candidate& candidate) override {
    const Cost cost = model_cost(counted(candidate).scaled(factor_), mi300_like(facts().compute_units));
    note_ = fmt::format("modelled: bound by {}, {} waves per SIMD, {} rounds", cost.bound,
                        cost.waves_per_simd, cost.rounds);
    return cost.microseconds;
  }
  std::string note() const override { return note_; }
  std::string origin() const override { return "modelled"; }
  std::string policy() const override { return "model"; }
  bool deterministic() const override { return true; }

private:
  static const mqa::DeviceFacts& facts() {
    std::string error;
    const mqa::DeviceFacts* device = mqa::device_facts(&error);
    if (!device) throw DeviceError(error);
    return *device;
  }

  // Every field set, as for the whole batch.
  mqa_config resolved(const mqa_config& wanted) const {
    mqa::LaunchConfig launch{};
    std::string why;
    if (resolve_config(shape_call(whole_), wanted, facts(), &launch, &why) != MQA_OK) throw DeviceError(why);
    return {launch.variant, launch.chunk_k, launch.split_kv, launch.wave_per_eu};
  }

  LaunchCounts counted(const Candidate& candidate) {
    apply_stress({}); // the gate may have left another schedule and poison behind
    const int before = amdsim_collect_counts(1);
    const LaunchResult result = output_.launch(resolved(candidate.config), candidate.fault);
    amdsim_counts c{};
    c.struct_size = sizeof c;
    const bool counted = amdsim_counts_last(&c) == 0;
    amdsim_collect_counts(before);
    if (result.status != VerdictClass::ok || !counted)
      throw DeviceError("the counted launch failed: " + result.message);
    return converted(c);
  }

  LaunchCounts converted(const amdsim_counts& c) const {
    const auto sum = [](auto... values) { return (static_cast<double>(values) + ...); };
    LaunchCounts out;
    out.blocks = sum(c.blocks), out.waves = sum(c.waves), out.instructions = sum(c.instructions);
    out.max_block_instructions = sum(c.max_block_instructions);
    out.valu = sum(c.valu, c.valu_packed), out.trans = sum(c.trans), out.lds = sum(c.lds);
    out.scalar = sum(c.salu, c.smem, c.branch, c.waitcnt, c.barrier), out.other = sum(c.other);
    out.vmem_load = sum(c.vmem_load, c.vmem_load_lds, c.scratch),
    out.vmem_store = sum(c.vmem_store, c.vmem_atomic);
    out.mfma_multiply_adds = sum(c.mfma_multiply_adds), out.lds_bytes = sum(c.lds_bytes);
    out.vmem_bytes = sum(c.vmem_load_bytes, c.vmem_store_bytes, c.vmem_load_lds_bytes, c.scratch_bytes);
    out.hbm_bytes = compulsory_bytes(part_);
    out.vgprs = static_cast<int32_t>(c.vgprs), out.lds_per_block = static_cast<int32_t>(c.lds_per_block);
    out.threads_per_block = static_cast<int32_t>(c.threads_per_block);
    return out;
  }

  Problem whole_, part_;
  double factor_;
  TrialMemory memory_;
  LogitsOutput output_;
  std::string note_;
};

} // namespace

std::unique_ptr<CostMeter> cost_meter(const Case& problem) { return std::make_unique<ModelMeter>(problem); }

} // namespace mqalab
