// Inline constants by their codes, the same for scalar and vector instructions
#include "constants.hpp"

#include "half.hpp"

namespace amdsim {
constexpr double fractions[9] = {0.5, -0.5, 1, -1, 2, -2, 4, -4, 0.15915494309189532};
bool constant(unsigned code, uint32_t lit, char type, uint64_t& v) {
  const bool wide = type == 'd' || type == 'q' || type == 'i';
  if (code == 255) {
    v = type == 'd' ? (uint64_t)lit << 32 : type == 'i' ? (uint64_t)(int64_t)(int32_t)lit : lit;
    return true;
  }
  if (code >= 128 && code <= 208) {
    int64_t n = code <= 192 ? (int64_t)code - 128 : 192 - (int64_t)code;
    v = wide ? (uint64_t)n : (uint32_t)n;
    return true;
  }
  if (code >= 240 && code <= 248) {
    const double f = fractions[code - 240];
    v = wide                                                       ? asq(f)
        : type == 'h' || type == 's' || type == 'P' || type == 'p' ? float_to_half((float)f)
                                                                   : asu((float)f);
    return true;
  }
  if (code >= 235 && code <= 238) {
    const uint64_t ap = code < 237 ? SHARED_APERTURE : PRIVATE_APERTURE;
    v = code & 1 ? ap : ap | 0xffffffff;
    if (!wide) v >>= 32;
    return true;
  }
  return false;
}

} // namespace amdsim
