// Prefills: every watched cell of the output starts as a quiet NaN whose payload hashes (salt, element), so
// that a cell that still holds it was not written, and one that holds another cell's was copied.  The
// payloads that hardware makes itself (0x7fc00000, 0x7fffffff) never occur.
#pragma once
#include <cstdint>

namespace mqalab {

constexpr uint32_t sentinel(uint64_t salt, int64_t element) {
  uint32_t h = static_cast<uint32_t>(element) * 0x9e3779b1u +
               static_cast<uint32_t>(element >> 32) * 0x7feb352du +
               static_cast<uint32_t>(salt ^ (salt >> 32));
  h = (h ^ (h >> 16)) * 0x85ebca6bu;
  h = (h ^ (h >> 13)) * 0xc2b2ae35u;
  h ^= h >> 16;
  const uint32_t payload = 1 + static_cast<uint32_t>((uint64_t{h} * 0x3ffffeu) >> 32);
  return 0x7fc00000u | (h & 0x80000000u) | payload;
}

} // namespace mqalab
