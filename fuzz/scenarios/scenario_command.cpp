// mqalab scenario: the two historical reports, and what a fault does to a selection.
#include "fuzz/commands.hpp"
#include "fuzz/fields.hpp"
#include "fuzz/progress.hpp"
#include "fuzz/scenarios/scenario.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <memory>

namespace mqalab {
namespace {

struct Subject {
  TopkSubject subject;
  const char* title;
};
constexpr std::array kSubjects{
    Subject{TopkSubject::correct_on_random_bytes, "a correct kernel on the report's random bytes"},
    Subject{TopkSubject::correct_on_clean_data, "the same kernel on clean data"},
    Subject{TopkSubject::split_fault_on_clean_data, "planted fault split_drops_rest on clean data"},
};

void print_subject(Oracle& oracle, const Subject& subject) {
  fmt::print("\n{}\n{:>8} | {:>14} {:>18} | {:>10} {:>10}\n", subject.title, "context", "position match",
             "largest difference", "verdict", "set recall");
  for (const int64_t context : {1024, 2048, 2049, 3000, 4096, 8192}) {
    const TopkRow row = random_topk_row(oracle, subject.subject, context);
    fmt::print("{:>8} | {:>14.4f} {:>18.3g} | {:>10} {:>10.4f}\n", row.context, row.position_match,
               row.largest_difference, row.verdict, row.set_recall);
    std::fflush(stdout);
  }
}

ExitCode random_topk() {
  Oracle oracle;
  fmt::print(
      "vllm#39303: is top-k random from context 2049 on?  heads 32, block size 1, k = min(2048, context)\n"
      "{:>8} | {:^33} | {:^21}\n",
      "", "the report's metric", "ours");
  for (const Subject& subject : kSubjects) print_subject(oracle, subject);
  fmt::print("\nThe cliff at 2048 appears without any kernel fault: up to there the selection is every "
             "column, whatever was written; beyond,\n"
             "one differing index shifts all between, and NaN codes in random bytes tie with the columns "
             "beyond the context.  With the\n"
             "fault, the report's metric says 1.0000 for every context up to 2048, where the logits are "
             "already wrong.\n");
  return ExitCode::clean;
}

ExitCode lost_rows_command() {
  Oracle oracle;
  Progress progress;
  fmt::print(
      "aiter#4244: 256 requests of 4 rows, planted fault out_offset_32 (32-bit byte offset of the store)\n");
  const LostRows right =
      lost_rows(oracle, 1 << 20, true, [&](const std::string& line) { progress.show(line); });
  progress.done();
  const LostRows narrower = lost_rows(oracle, 600000, false, [](const std::string&) {});
  for (const LostRows& story : {right, narrower})
    fmt::print("row stride {:>8}: {} rows, verdict {}, first untouched row {}\n", story.stride, story.rows,
               story.verdict, story.first_untouched_row);
  fmt::print("minimal ({} rows, {} checks): {}\nlaw: {}\n", rows(right.minimal), right.checks,
             to_json(right.minimal, -1), right.law);
  const Verdict production = oracle.check(lost_rows_case(1 << 20));
  fmt::print("the production kernel on the report's shape: {}\n", name(production.verdict));
  return is_finding(production.verdict) ? ExitCode::findings : ExitCode::clean;
}

ExitCode indexer(const std::string& only) {
  std::vector<const Fault*> list = indexer_faults();
  if (!only.empty()) list = {nullptr, fault_named(only)};
  const Case c = indexer_case();
  fmt::print(
      "writer -> logits -> top-k, {} sequences of {} speculative rows, {} heads, k {}: recall of the double "
      "reference's selection\n{:26} {:>10}",
      c.shape.batch, c.shape.next_n, c.shape.heads, c.selection.k, "fault", "verdict");
  for (const int32_t context : c.shape.context_lens)
    fmt::print(" | {:^20}", fmt::format("context {}", context));
  fmt::print("\n");
  bool right = true;
  for (const Fault* fault : list) {
    const IndexerLoss loss = indexer_loss(fault);
    if (loss.recalls.empty()) throw UsageError("--fault: " + loss.message);
    fmt::print("{:26} {:>10}", loss.fault, loss.verdict);
    for (const std::vector<double>& sequence : loss.recalls) {
      fmt::print(" |");
      for (const double recall : sequence) fmt::print(" {:6.4f}", recall);
    }
    fmt::print("\n");
    std::fflush(stdout);
    right &= fault || loss.verdict == name(VerdictClass::ok);
  }
  fmt::print("\nAt contexts up to k every column is selected: there no fault of the logits can be seen in a "
             "selection, "
             "or in a model.\n");
  return right ? ExitCode::clean : ExitCode::findings;
}

} // namespace

void add_scenario(CLI::App& app, ExitCode& code) {
  CLI::App* command =
      app.add_subcommand("scenario", "two historical reports replayed, and what a fault does to a selection");
  command->group("Fuzzing");
  command->require_subcommand(1);
  CLI::App* topk =
      command->add_subcommand("random-topk", "vllm#39303: a metric that cried wolf, beside ours");
  topk->callback([&code] { code = random_topk(); });
  CLI::App* rows =
      command->add_subcommand("lost-rows", "aiter#4244: rows that were never stored, minimised to a law");
  rows->callback([&code] { code = lost_rows_command(); });
  auto fault = std::make_shared<std::string>();
  CLI::App* chain = command->add_subcommand(
      "indexer", "cache writer, logits and top-k in a row: recall of the selection under planted faults");
  chain->add_option("--fault", *fault, "only this planted fault, beside the production kernels");
  chain->callback([&code, fault] { code = indexer(*fault); });
  command->footer("example: mqalab scenario lost-rows\nexit: 0 the production kernel is right, 10 it is not");
}

} // namespace mqalab
