// Legal?  Then the trial of its operation; and what survives a fault.
#include "fuzz/oracle.hpp"

#include "fuzz/probe.hpp"
#include "fuzz/refusal.hpp"
#include "fuzz/splitmix.hpp"
#include "fuzz/trial_large.hpp"
#include "fuzz/trials.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>

namespace mqalab {
namespace {

// A simulator's message names addresses; the pattern keeps only what stays the same from run to run.
std::string fault_pattern(const std::string& message) {
  for (const char* word : {"writes", "reads", "LDS", "hung", "not implemented", "refused"})
    if (message.find(word) != std::string::npos) return word;
  return "error";
}

} // namespace

Verdict plain(VerdictClass verdict, std::string message, std::string pattern) {
  Verdict v;
  v.verdict = verdict, v.message = std::move(message);
  v.signature = {verdict, std::move(pattern), ""};
  return v;
}

Verdict did_not_run(const LaunchResult& ran) {
  Verdict v =
      plain(ran.status, fmt::format("{}: {}", name(ran.status), ran.message), fault_pattern(ran.message));
  v.launched = ran.choice;
  return v;
}

uint64_t TrialMemory::fresh_salt() { return splitmix(0x6d71616c6162ull, ++launches); }

void TrialMemory::retire(uint64_t salt) {
  old_salts.push_front(salt);
  if (old_salts.size() > 8) old_salts.pop_back();
}

namespace {
constexpr std::array<std::string_view, 3> kSets{"drawn", "none", "all"}; // in the order of Relations
} // namespace

std::string relations_text(const OracleOptions& o) {
  if (o.relations == OracleOptions::Relations::named) return std::string(name(o.relation));
  return std::string(kSets[static_cast<size_t>(o.relations)]);
}

std::optional<OracleOptions> options_with_relations(std::string_view text) {
  OracleOptions options;
  if (const auto it = std::ranges::find(kSets, text); it != kSets.end()) {
    options.relations = static_cast<OracleOptions::Relations>(it - kSets.begin());
    return options;
  }
  const auto relation = relation_named(text);
  if (!relation) return {};
  options.relations = OracleOptions::Relations::named, options.relation = *relation;
  return options;
}

OracleOptions options_for(const Signature& wanted) {
  constexpr std::string_view kPrefix = "relation ";
  const std::string_view pattern = wanted.pattern;
  if (!pattern.starts_with(kPrefix)) return {};
  return options_with_relations(pattern.substr(kPrefix.size())).value_or(OracleOptions{});
}

struct Oracle::Impl {
  TrialMemory memory;
  bool lost = false;

  Verdict run_trial(const Case&, const Fault*, const OracleOptions&, bool large);
};

namespace {

// Beside a tensor, in a zone that only real hardware needs.
Verdict beside(const StrayWrite& stray, const Verdict& ok) {
  const bool before = stray.offset_bytes < 0;
  Verdict v = ok;
  v.verdict = VerdictClass::guard;
  v.signature = {v.verdict, "guard written", before ? "before the tensor" : "behind the tensor"};
  v.message = fmt::format("guard: byte {} {} {} ({} bytes) was written, it holds {:#04x}",
                          before ? -stray.offset_bytes : stray.offset_bytes - stray.size_bytes,
                          before ? "before" : "behind the end of", stray.buffer, stray.size_bytes, stray.got);
  return v;
}

Verdict after_a_fault(Verdict v) {
  v.message += "; the device is lost to this process, end it";
  return v;
}

} // namespace

Verdict Oracle::Impl::run_trial(const Case& c, const Fault* fault, const OracleOptions& options, bool large) {
  if (makes_logits(c.op) && large) return try_large(memory, c, fault, options);
  switch (c.op) {
  case Operation::top_k: return try_top_k(memory, c, fault, options);
  case Operation::cache_write: return try_cache_write(memory, c, fault, options);
  case Operation::cache_gather: return try_cache_gather(memory, c, fault, options);
  case Operation::indexer: return try_indexer(memory, c, fault, options);
  default: return try_logits(memory, c, fault, options);
  }
}

Oracle::Oracle() : impl_(std::make_unique<Impl>()) {
  for (const Unit unit : units()) (void)probed(unit); // not in the midst of a case, whose edges are counted
}
Oracle::~Oracle() = default;
bool Oracle::device_lost() const { return impl_->lost; }

Verdict Oracle::check(const Case& c, const Fault* fault, const OracleOptions& options) {
  if (impl_->lost)
    return plain(VerdictClass::none, "none: the device was lost to this process by an earlier fault");
  if (const auto why = why_outside_contract(c); !why.empty()) return check_refusal(c, why);
  const bool fits_host = why_illegal(c).empty();
  if (!fits_host) // rare: the wider limits are asked for only then
    if (const auto why = why_unjudgeable(c); !why.empty()) return plain(VerdictClass::none, "none: " + why);
  try {
    if (!forget_errors())
      return plain(VerdictClass::none, "none: the device reports an error before the launch");
    release_large_buffers(), (void)take_stray_write();
    Verdict v = impl_->run_trial(c, fault, options, options.large || !fits_host);
    if (const auto stray = take_stray_write(); stray && v.verdict == VerdictClass::ok) v = beside(*stray, v);
    v.signature.configuration = configuration_class(v.launched.config);
    if (v.verdict != VerdictClass::fault && v.verdict != VerdictClass::hang) return v;
    impl_->lost = !forget_errors();
    return impl_->lost ? after_a_fault(std::move(v)) : v;
  } catch (const DeviceError& e) {
    return plain(VerdictClass::none, fmt::format("none: {}", e.what()));
  } catch (const std::bad_alloc&) {
    return plain(VerdictClass::none, "none: out of host memory");
  }
}

std::vector<float> Oracle::run(const Case& c, const Fault* fault, mqa_choice* launched, std::string* error) {
  std::vector<float> out;
  try {
    const LaunchResult ran = run_logits(impl_->memory, c, fault, out);
    if (launched) *launched = ran.choice;
    if (ran.status != VerdictClass::ok)
      *error = fmt::format("{}: {}", name(ran.status), ran.message), impl_->lost = !forget_errors();
  } catch (const DeviceError& e) {
    *error = e.what();
  } catch (const std::bad_alloc&) {
    *error = "out of host memory";
  }
  return out;
}

} // namespace mqalab
