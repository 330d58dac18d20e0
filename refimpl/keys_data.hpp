// The keys that a case's data spec stands for, before the writer quantises them.  As in generate.hpp every
// element is a pure function of (seed, token, dim).
//
//   exact     small integers times a power of two per token
//   numeric   gaussian, each token with a magnitude of its own, over ten decades; with the pattern positive
//             all of magnitude 1, as after a layer norm
//   special   tokens of one odd kind each: NaN, infinities, denormals, zeros of both signs, magnitudes
//             below the least scale, values halfway between two codes, values at the edge of saturation,
//             the type's largest
//
// The pattern raw_bytes overrules the lane: uniformly random bits.  An override of tensor k has the index
// token*head_dim + dim and the bits of the key type.
#pragma once
#include "refimpl/generate.hpp"

namespace mqalab {

// [writer_tokens, head_dim] elements of key_type, tokens keys_stride apart.  Tokens that are skipped, and the
// padding between tokens, hold poison.
SparseBuffer make_keys(const Problem&, const DataSpec&, Poison = Poison::nan_codes);

} // namespace mqalab
