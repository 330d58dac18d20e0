// The keys of a unit of kLanes tokens: found, loaded and decoded by one wave, then held in registers.
#pragma once
#include "kernels/arch/arch.hpp"
#include "kernels/lengths.hpp"

#include <hip/hip_runtime.h>

namespace mqa {

template <class Arch, int D> struct Keys {
  typename Arch::template KeyFragment<D> slot[Arch::kSlots];
  float scale; // of the token that this lane owns; NaN for a block id out of range
};

// Block id of a token, -1 when it is not needed: no table entry past the context is read.
template <class R>
__device__ int32_t load_block_id(const PagedArgs& a, const Sequence& s, int32_t position, bool needed) {
  return needed ? (a.block_table + s.table_base)[R::table_offset(a, s.index, position)] : -1;
}

// Each lane finds the bytes of its own token, which lies in block `id`, once and tells the lanes that hold
// quarters of that token.  Tokens that are not needed, or whose block id is bad, stand in with the pool's
// first bytes: their sums are not stored, or become NaN.
template <class Arch, class R, int D>
__device__ Keys<Arch, D> load_keys(const PagedArgs& a, int lane, int32_t own, int32_t id) {
  constexpr int bytes = Arch::template kChunkBytes<D>;
  const int32_t in_block = R::token_in_block(a, own, R::block_column(a, own));
  const bool valid = R::valid_block(id, a.num_blocks);
  const int64_t own_offset = valid ? R::block_offset(a, id) + R::token_offset(a, in_block) : 0;
  uint32_t raw[Arch::kSlots][D / 16];
  for (int slot = 0; slot < Arch::kSlots; ++slot) {
    const int owner = Arch::token_lane(Arch::slot_token(slot, lane));
    const uint8_t* token = a.kv_cache + Arch::shuffle(own_offset, owner);
    for (int c = 0; c < Arch::template kChunks<D>; ++c) {
      const int dim = 64 * c + bytes * Arch::quarter(lane);
      Arch::template load_key_bytes<bytes>(raw[slot] + c * bytes / 4, token + R::dim_offset(a, dim), a);
    }
  }
  Keys<Arch, D> keys;
  Arch::template decode_keys<D>(keys.slot, raw, R::key_is_fnuz(a));
  keys.scale = __builtin_nanf("");
  if (valid)
    keys.scale = R::load_scale(a.scale_base, R::scale_block_offset(a, id) + R::scale_offset(a, in_block));
  return keys;
}

} // namespace mqa
