#include "fuzz/fault_fit.hpp"

#include "fuzz/fields.hpp"
#include "fuzz/repair.hpp"

#include <map>

namespace mqalab {
namespace {

// Faults of the matrix-unit kernels are built for head_dim 128 with staged queries, or for the scheduled
// variant when the witness asks for it.
void fit_matrix_instances(Case& c, const Case& witness) {
  c.shape.head_dim = 128;
  if (witness.config.variant != MQA_VARIANT_AUTO)
    c.config.variant = witness.config.variant;
  else if (c.config.variant != MQA_VARIANT_STAGED)
    c.config.variant = MQA_VARIANT_AUTO;
  while (c.shape.next_n > 1 && !rows_fit(c) && c.op != Operation::prefill_logits) --c.shape.next_n;
  if (!rows_fit(c)) c.shape.heads = 64;
}

} // namespace

// Witnesses are read often and never change.
const Case& witness_of(const Fault& fault) {
  static std::map<std::string_view, Case> read;
  const auto [entry, fresh] = read.try_emplace(fault.name);
  if (fresh) entry->second = case_from_json(fault.witness, std::string(fault.name));
  return entry->second;
}

Operation operation_of(const Fault& fault) { return witness_of(fault).op; }

void fit_instances(Case& c, const Fault& fault) {
  const Case& witness = witness_of(fault);
  c.op = witness.op;
  if (fault.launch.logits != nullptr && makes_logits(c.op)) {
    if (runs_general(witness))
      c.config.variant = MQA_VARIANT_GENERAL;
    else
      fit_matrix_instances(c, witness);
  }
  repair(c);
}

void fit_fault(Case& c, const Fault& fault) {
  fit_instances(c, fault);
  bound_work(c);
}

} // namespace mqalab
