// The indexer end to end on the device: keys into the cache, logits from the cache, a selection from the
// logits.  Every step is judged against its own input, so that a verdict names the step that broke and not
// what followed from it; then the selection against the reference, whatever lay between.
#pragma once
#include "fuzz/judge_top_k.hpp"
#include "fuzz/logits_output.hpp"
#include "fuzz/relaunch.hpp"

#include <optional>
#include <string>
#include <vector>

namespace mqalab {

// One launch of all three.
struct IndexerRun {
  Verdict verdict; // of the first step that is not right; its signature's pattern names the step
  std::vector<uint32_t> logits, indices; // watched cells; empty when a step did not run
  mqa_choice launched{};                 // of the logits
};

class IndexerChain {
public:
  // The case must outlive it.
  IndexerChain(TrialMemory&, const Case&);

  // A fault stands in for the step that it is planted in.
  IndexerRun run(const Setup&, const Fault*, const OracleOptions&);
  // Deviations of a later run from the first: logits bitwise, then the selections, judged when they have no
  // order.
  std::vector<Deviation> differences_of(const Setup& first, const IndexerRun&, const Setup& next,
                                        const IndexerRun&) const;
  // The selection of a run in which all three ran, against the reference (judge_end_to_end).
  Verdict judge_whole(const Setup&, const IndexerRun&) const;
  // Per row: share of the double reference's selection that was selected (selection_recall).  What a model
  // loses to a fault.
  std::vector<double> recalls(const IndexerRun&) const;

  const Problem& problem() const { return problem_; }

private:
  GuardedWords& indices() { return memory_.outputs[1]; }
  InputBuffer& keys() { return memory_.buffers[0]; }
  InputBuffer& slots() { return memory_.buffers[1]; }
  void upload(bool other_poison);
  LaunchResult launch_write(const Fault*);
  LaunchResult launch_top_k(const Fault*);
  Verdict judge_cache() const;
  std::optional<std::string> written_place(int64_t block, int64_t byte) const;
  Verdict judge_logits(const Setup&, const IndexerRun&);
  Verdict judge_selection(const Setup&, const IndexerRun&);
  Candidates candidates(const IndexerRun&) const;
  double worst_recall(const IndexerRun&) const;

  TrialMemory& memory_;
  const Case& case_;
  Problem problem_, index_problem_;
  LogitsOutput logits_;
  Watch index_watch_;
  std::vector<int64_t> slots_;
  SparseBuffer keys_;
  Tensors before_, after_; // with the cache as uploaded, and as the writer is to leave it
  std::vector<RowReference> rows_;
};

} // namespace mqalab
