// What a launch may not have written beside its outputs: their guard zones and its inputs.  One rule, asked
// after every launch that a check makes: such a write is a finding, whatever the values are.
#pragma once
#include "fuzz/device_memory.hpp"
#include "fuzz/verdict.hpp"

#include <optional>
#include <span>
#include <string_view>

namespace mqalab {

struct GuardedOutput {
  std::string_view name; // logits, indices, keys, ...
  const GuardedWords& words;
  int64_t rows; // of the output; what lies behind the last one is shown in this row
};

// Both turn the verdict on the launch into one that names what was written, and return true, unless the
// launch was wrong in a question that comes before: its end and its written set.  `when`: "in a launch after
// the first"; empty for the first.
bool look_at_guards(Verdict&, std::span<const GuardedOutput>, std::string_view when = {});
bool look_at_inputs(Verdict&, const std::optional<ChangedInput>&, std::string_view when = {});

inline constexpr std::string_view kInLaterLaunch = "in a launch after the first";

} // namespace mqalab
