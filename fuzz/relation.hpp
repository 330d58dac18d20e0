// Metamorphic relations (docs/relations.md): a partner, that is another launch whose result follows from
// this one's without any reference.  The token axis is never reduced over, so most hold bitwise in every
// lane. A relation is blind to what both launches share (layout, mask, scale, flavour); the reference sees
// those.
#pragma once
#include "fuzz/case.hpp"
#include "fuzz/random.hpp"
#include "refimpl/generate.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mqalab {

enum class Relation : uint8_t {
  rename_blocks,   // pool and table permuted alike
  output_place,    // row stride, plane stride and base of the output changed
  pool_place,      // base and block stride of the pool changed
  input_strides,   // strides of q, weights and block table changed
  prefix,          // other context lengths: the common columns agree
  batch_split,     // the sequences in two launches
  batch_order,     // the sequences in another order
  next_n_split,    // row n of next_n rows is a row of a call with next_n 1 and a shorter context
  configuration,   // another SplitKV, ChunkK, WavePerEU
  variant,         // another kernel: bitwise in the exact lane only
  scales_doubled,  // scales * 2^j: logits * 2^j
  weights_doubled, // weights * 2^j: logits * 2^j
  weights_negated, // logits negated
  both_negated,    // queries and keys negated: the same logits
  other_layout,    // planar against shuffled, equal content
  heads_permuted,  // exact lane only
  under_load,      // beside launches of the same kernel on another stream
  graph_replay     // captured over other contents, and replayed over these
};
inline constexpr size_t kRelations = static_cast<size_t>(Relation::graph_replay) + 1;
std::string_view name(Relation);
std::optional<Relation> relation_named(std::string_view);

// Columns [begin, end) of an output row of ours and of the partner's that must agree.
struct RowPair {
  int64_t ours = 0, theirs = 0; // output rows (a plane's row for per-head logits)
  int64_t begin = 0, end = 0;
};

// How a partner is started (relation_launch.hpp).
enum class Manner : uint8_t { alone, under_load, replayed };
// Other contents for tensors of the same sizes: what launches beside the partner's work on, or what lies in
// its tensors while it is captured.
struct OtherContents {
  Problem problem;
  Tensors tensors;
};

// One other launch.
struct Partner {
  Problem problem;
  Tensors tensors;
  mqa_config config{0, 0, 0, 0};
  std::vector<RowPair> rows;
  double factor = 1; // their value = factor * ours, to the bit; a power of two, or the negative of one
  int64_t base_shift_elements = 0; // the partner's logits start so many elements later
  Manner manner = Manner::alone;
  std::optional<OtherContents> other; // unless alone
};

// Why the relation says nothing of this case; empty: it does.  The numeric lane has those that hold bitwise
// by construction of the kernels, the special lane those that do not touch values.
std::string why_no_partner(Relation, const Case&);
// All launches that together cover what the relation is about: one, or two for batch_split.  None where the
// data forbid it: a number that would over- or underflow.  Precondition: no reason against it.  `launched`:
// of the first launch, nothing automatic.
std::vector<Partner> partners(Relation, const Case&, const Problem&, const Tensors&,
                              const mqa_config& launched, Random&);

// The relation that a check of this case tries when none is asked for: a function of the case alone, so that
// the same case always gives the same verdict.  Every relation that says something is as likely as any other.
std::optional<Relation> relation_for(const Case&);

} // namespace mqalab
