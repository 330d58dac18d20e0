#include "fuzz/relation_trial.hpp"

#include "fuzz/logits_output.hpp"
#include "fuzz/relation_launch.hpp"
#include "fuzz/signature.hpp"
#include "fuzz/splitmix.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <span>

namespace mqalab {
namespace {

constexpr size_t kMostDeviations = 65536;

constexpr std::array<const char*, kRelations> kWhen{"when the pool's blocks are renamed",
                                                    "when the output's strides and base change",
                                                    "when the pool moves and its stride changes",
                                                    "when the strides of q, weights and block table change",
                                                    "when contexts are shorter, in columns that both have",
                                                    "when the batch is launched in two parts",
                                                    "when the batch is in another order",
                                                    "when each row is a call of its own",
                                                    "in another configuration of the same variant",
                                                    "in another variant",
                                                    "when all scales are multiplied by a power of two",
                                                    "when all weights are multiplied by a power of two",
                                                    "when all weights are negated",
                                                    "when queries and keys are both negated",
                                                    "in the other layout of the cache",
                                                    "when the heads are permuted",
                                                    "beside launches on another stream",
                                                    "when a captured graph of it is replayed"};

std::string pattern_of(Relation r) { return fmt::format("relation {}", name(r)); }

struct Difference {
  Deviation cell;
  int64_t their_row = 0;
  const char* note = "";
};

// -0 agrees with 0, NaN with NaN.
bool agree(float theirs, float due) { return theirs == due || (std::isnan(theirs) && std::isnan(due)); }

class Comparison {
public:
  Comparison(const FirstLaunch& ours, const Partner& partner, const LogitsOutput& output,
             std::span<const uint32_t> cells, uint64_t salt)
      : ours_(ours), partner_(partner), output_(output), cells_(cells), salt_(salt) {}

  std::vector<Difference> run() {
    for (const RowPair& pair : partner_.rows)
      for (int64_t column = pair.begin; column < pair.end; ++column) value(pair, column);
    for (const Window& w : output_.watch().windows)
      for (int64_t e = w.begin; e < w.end; ++e) written(e, cells_[w.first + e - w.begin]);
    return std::move(found_);
  }

private:
  void add(int64_t row, int64_t column, uint32_t got, double due, int64_t their_row, const char* note) {
    if (found_.size() < kMostDeviations)
      found_.push_back({{VerdictClass::relation, row, column, got, due, 0, true}, their_row, note});
  }
  void value(const RowPair& pair, int64_t column) {
    const int64_t a = ours_.output.watch.cell_of(ours_.problem.output_offset(pair.ours) + column);
    const int64_t b = output_.watch().cell_of(partner_.problem.output_offset(pair.theirs) + column);
    if (a < 0 || b < 0) return;
    const auto first = std::bit_cast<float>(ours_.output.cells[static_cast<size_t>(a)]);
    const uint32_t got = cells_[static_cast<size_t>(b)];
    const auto due = static_cast<float>(partner_.factor * first);
    if (!agree(std::bit_cast<float>(got), due)) add(pair.ours, column, got, due, pair.theirs, "");
  }
  // The partner's own written set.
  void written(int64_t element, uint32_t got) {
    const Problem& p = partner_.problem;
    const int64_t row = p.output_row_at(element), column = element - p.output_offset(row);
    const bool in_row = column >= 0 && column < p.max_model_len;
    const bool holds_value = in_row && column >= p.first(row) && column < p.limit(row);
    const bool untouched = got == output_.prefilled(salt_, element);
    const bool due = holds_value || (in_row && p.tail == MQA_TAIL_NEG_INF);
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN(),
                     kInf = std::numeric_limits<double>::infinity();
    if (due == untouched)
      add(row, column, got, kNan, row, due ? "the partner left it unwritten" : "the partner wrote it");
    else if (due && !holds_value && std::bit_cast<float>(got) != -kInf)
      add(row, column, got, -kInf, row, "tail of the partner");
  }

  const FirstLaunch& ours_;
  const Partner& partner_;
  const LogitsOutput& output_;
  std::span<const uint32_t> cells_;
  uint64_t salt_;
  std::vector<Difference> found_;
};

void report(Verdict& v, Relation r, const Problem& p, const std::vector<Difference>& found) {
  std::vector<Deviation> cells;
  for (const Difference& d : found) cells.push_back(d.cell);
  const Region region = region_of(p, v.launched.config.chunk_k, cells, v.launched.config.split_kv);
  v.verdict = VerdictClass::relation, v.signature = {v.verdict, pattern_of(r), region.name};
  v.cells_bad = static_cast<int64_t>(found.size());
  for (const Difference& d : found) {
    if (v.first_bad.size() == 8) break;
    v.first_bad.push_back({d.cell.row, d.cell.column, std::bit_cast<float>(d.cell.got), d.cell.expected, 0,
                           fmt::format("partner's row {}{}{}", d.their_row, *d.note ? ": " : "", d.note)});
  }
  const BadCell& cell = v.first_bad.front();
  v.message = fmt::format("relation: {} column {} should be {} and is {} {}; {} cells differ; {}",
                          row_text(p, cell.row), cell.column, shown(cell.expected), shown(cell.got),
                          kWhen[static_cast<size_t>(r)], v.cells_bad, region.detail);
}

// What the launches wrote beside their outputs' cells; other launches than the partner's were over memory's
// first inputs and outputs.
void look_beside(TrialMemory& memory, Relation r, const Partner& partner, const LogitsOutput& output,
                 Verdict& v) {
  const char* when = kWhen[static_cast<size_t>(r)];
  bool found = look_at_guards(v, output.guarded(), when) ||
               look_at_inputs(v, memory.partner_inputs.changed(partner.problem), when);
  if (!found && partner.manner != Manner::alone)
    found = look_at_guards(v, LogitsOutput(memory, partner.other->problem).guarded(), when) ||
            look_at_inputs(v, memory.inputs.changed(partner.other->problem), when);
  if (found) v.signature.pattern = pattern_of(r); // so that a smaller case is asked for the same one
}

// A fault is built for few instances, and another variant does not serve every call.
bool may_be_refused(Relation r, const Fault* fault) { return fault || r == Relation::variant; }

} // namespace

std::vector<Relation> relations_to_try(const Case& c, const OracleOptions& options) {
  std::vector<Relation> all;
  const auto add = [&](Relation r) {
    if (why_no_partner(r, c).empty()) all.push_back(r);
  };
  switch (options.relations) {
  case OracleOptions::Relations::none: break;
  case OracleOptions::Relations::drawn:
    if (const auto drawn = relation_for(c)) all.push_back(*drawn);
    break;
  case OracleOptions::Relations::named: add(options.relation); break;
  case OracleOptions::Relations::all:
    for (size_t i = 0; i < kRelations; ++i) add(static_cast<Relation>(i));
    break;
  }
  return all;
}

void try_relation(TrialMemory& memory, Relation r, const FirstLaunch& first, Verdict& v) {
  Random random(splitmix(first.c.data.seed, static_cast<uint64_t>(r)));
  for (const Partner& partner :
       partners(r, first.c, first.problem, first.tensors, v.launched.config, random)) {
    LogitsOutput output(memory.partner_inputs, memory.partner_outputs, partner.problem,
                        partner.base_shift_elements);
    uint64_t salt = 0;
    apply_stress({0, false, false, first.most_instructions});
    const LaunchResult ran = launch_partner(memory, partner, first.fault, output, salt);
    if (ran.status == VerdictClass::rejected && may_be_refused(r, first.fault)) continue;
    if (ran.status != VerdictClass::ok) {
      const mqa_choice launched = v.launched;
      v = did_not_run(ran), v.launched = launched;
      v.message = fmt::format("{} ({})", v.message, kWhen[static_cast<size_t>(r)]);
      // The pattern names the relation, so that a smaller case is asked for the same one.
      if (ran.status == VerdictClass::rejected) v.verdict = v.signature.verdict = VerdictClass::relation;
      v.signature.pattern = pattern_of(r);
      return;
    }
    std::vector<uint32_t> cells;
    output.read(cells);
    const auto found = Comparison(first, partner, output, cells, salt).run();
    if (!found.empty()) return report(v, r, first.problem, found);
    look_beside(memory, r, partner, output, v);
    if (v.verdict != VerdictClass::ok) return;
  }
}

} // namespace mqalab
