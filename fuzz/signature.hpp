// From a list of bad cells to what a kernel engineer wants to read first: how they are wrong (the pattern)
// and where they lie (the region).
#pragma once
#include "fuzz/judge.hpp"

namespace mqalab {

// How the bad cells are wrong: "untouched", "zero", "ratio 2", "displaced slot", "-inf where value",
// "garbage", ...; behind a comma what explains it.
std::string pattern_of(const Expected&, const Output&, std::span<const Deviation>);

// "row 3", or "head 2 row 3" of per-head logits.
std::string row_text(const Problem&, int64_t output_row);

// Where they lie.  `name` has no numbers and is part of the signature; `detail` has them.
struct Region {
  std::string name, detail;
};
Region region_of(const Problem&, int32_t chunk_tokens, std::span<const Deviation>, int32_t splits = 1);

// Fills in signature, first bad cells and message; deviations must not be empty.
void explain(Verdict&, const Expected&, const Output&, std::span<const Deviation>);

} // namespace mqalab
