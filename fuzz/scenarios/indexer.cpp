// What a fault does to a model: the selection of a decode step with speculative rows, against the double
// reference's. The contexts are three kinds: far above k, a little above it, and below it, where every column
// is selected and any fault of the logits is invisible.
#include "fuzz/indexer_chain.hpp"
#include "fuzz/scenarios/scenario.hpp"

#include <algorithm>
#include <numeric>

namespace mqalab {

Case indexer_case() {
  Case c;
  c.op = Operation::indexer;
  c.shape.batch = 3;
  c.shape.next_n = 3;
  c.shape.heads = 64;
  c.shape.block_size = 64;
  c.shape.layout = MQA_SHUFFLED;
  c.shape.fp8 = MQA_E4M3FNUZ;
  c.shape.context_lens = {6000, 2600, 1500};
  c.shape.max_model_len = 6100;
  c.strides.logits = 6144; // rows are aligned, as allocators do it
  c.block_table.mode = TableMode::shuffled;
  c.selection = {2048, true};
  c.data.lane = Lane::numeric;
  c.data.pattern = Pattern::positive; // keys of one magnitude, as after a layer norm
  c.config.split_kv = 5;
  return c;
}

IndexerLoss indexer_loss(const Fault* fault) {
  const Case c = indexer_case();
  TrialMemory memory;
  IndexerChain chain(memory, c);
  const IndexerRun run = chain.run({memory.fresh_salt()}, fault, {});
  IndexerLoss loss;
  loss.fault = fault ? fault->name : "none";
  loss.breaks = fault ? fault->breaks : "the production kernels";
  loss.verdict = name(run.verdict.verdict);
  loss.message = run.verdict.message;
  const std::vector<double> recalls = chain.recalls(run);
  for (size_t b = 0; b * c.shape.next_n < recalls.size(); ++b) {
    const auto from = recalls.begin() + static_cast<int64_t>(b) * c.shape.next_n;
    loss.recalls.emplace_back(from, from + c.shape.next_n);
  }
  return loss;
}

std::vector<const Fault*> indexer_faults() {
  std::vector<const Fault*> all{nullptr};
  for (const char* name :
       {"weight_ulp", "flavour_both", "scale_missing", "scale_next", "unshuffled_read", "mask_no_next_n",
        "mask_lt", "split_drops_rest", "table_row_zero", "row_neighbour", "acc_bf16", "writer_flavour",
        "writer_truncates", "writer_unshuffled", "topk_stride", "topk_limit_ignores_next_n"})
    if (const Fault* fault = find_fault(name)) all.push_back(fault);
  return all;
}

} // namespace mqalab
