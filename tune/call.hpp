// A call of an operation that makes logits, as the library takes it: either of two argument structs, and what
// the tuner asks of both.
#pragma once
#include "fuzz/device_memory.hpp"
#include "kernels/launch.hpp"
#include "kernels/problem_key.hpp"

#include <string>
#include <variant>

namespace mqalab {

using LogitsCall = std::variant<mqa_paged_logits_args, mqa_prefill_logits_args>;

// Operations with configurations to choose from.
constexpr bool is_tunable(Operation op) { return makes_logits(op) && op != Operation::head_sum; }

// The shape of a tunable problem's call, for everything but a launch.
LogitsCall shape_call(const Problem&);
LogitsCall device_call(const DeviceInputs&, const Problem&, float* logits);

mqa::ProblemKey problem_key(const LogitsCall&);
mqa_status resolve_config(const LogitsCall&, const mqa_config& wanted, const mqa::DeviceFacts&,
                          mqa::LaunchConfig*, std::string* why);
mqa::PagedArgs prepare(const LogitsCall&, const mqa::LaunchConfig&, const mqa::DeviceFacts&);
// What the library would launch without an explicit configuration.
mqa_status choose(const LogitsCall&, mqa_choice*);

} // namespace mqalab
