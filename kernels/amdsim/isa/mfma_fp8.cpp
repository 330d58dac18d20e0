// The exact FP8 matrix product, as fast as it gets: most of a campaign's time is spent here. Bytes
// become half precision numbers, 8 lanes at a time, and these floats or doubles. Floats suffice
// when the exponents lie so close together that every partial sum fits their 24 bits: then nothing
// is rounded before C is added, and the result has the same bits. Doubles hold every sum of E4M3;
// of E5M2, whose products span 63 binades, they hold all but what far wider sums would need.
#include "mfma.hpp"

#include <immintrin.h>

namespace amdsim {
namespace {

// ---- range of an operand's bytes ------------------------------------------------------------------------
struct Range {
  int smallest, largest; // exponent fields of the non-zero numbers; a subnormal counts as field 1
  bool special;          // NaN or infinity, or a code that looks like one as half precision
};

int horizontal_max(__m256i v) {
  __m128i m = _mm_max_epu8(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  m = _mm_max_epu8(m, _mm_srli_si128(m, 8));
  m = _mm_max_epu8(m, _mm_srli_si128(m, 4));
  m = _mm_max_epu8(m, _mm_srli_si128(m, 2));
  m = _mm_max_epu8(m, _mm_srli_si128(m, 1));
  return _mm_cvtsi128_si32(m) & 255;
}

Range range_of(const uint32_t* v, int registers, Fp8Format f) {
  const __m256i magnitude = _mm256_set1_epi8(0x7f), minus_zero = _mm256_set1_epi8((char)0x80);
  __m256i largest = _mm256_setzero_si256(), complement = largest, nan = largest;
  for (int i = 0; i < registers * 64; i += 8) {
    const __m256i x = _mm256_loadu_si256((const __m256i*)(v + i)), m = _mm256_and_si256(x, magnitude);
    largest = _mm256_max_epu8(largest, m);
    complement =
        _mm256_max_epu8(complement, _mm256_sub_epi8(_mm256_setzero_si256(), m)); // 256 - m; 0 stays 0
    nan = _mm256_or_si256(nan, _mm256_cmpeq_epi8(x, minus_zero));
  }
  const int mb = f.mantissa_bits(), top = horizontal_max(largest), bottom = 256 - horizontal_max(complement);
  const int first_special = f.bf8 ? 0x7c : f.fnuz ? 0x80 : 0x7f;
  const bool special = top >= first_special || (f.fnuz && _mm256_movemask_epi8(nan));
  if (!top) return {1, 1, special};
  return {std::max(1, bottom >> mb), std::max(1, top >> mb), special};
}

// |number| < 2^(largest + 1) and a multiple of 2^(smallest - mantissa
// bits): a sum of `depth` products of two such has at most so many bits
int bits_of_sum(const Range& a, int a_mantissa, const Range& b, int b_mantissa, int depth) {
  return a.largest - a.smallest + 1 + a_mantissa + b.largest - b.smallest + 1 + b_mantissa +
         (int)std::bit_width((unsigned)depth - 1);
}

// ---- bytes to numbers -----------------------------------------------------------------------------------
// T[k][lane % size] of the operand, times a power of two: half precision has another exponent bias.
int half_scale(Fp8Format f) { return 15 - f.bias(); }

inline void store(float* p, __m128i halves) { _mm256_storeu_ps(p, _mm256_cvtph_ps(halves)); }
inline void store(double* p, __m128i halves) {
  const __m256 x = _mm256_cvtph_ps(halves);
  _mm256_storeu_pd(p, _mm256_cvtps_pd(_mm256_castps256_ps128(x)));
  _mm256_storeu_pd(p + 4, _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1)));
}

// sign, exponent and mantissa of bytes in the upper halves
// of 16-bit words, moved to where half precision has them
template <bool BF8> inline __m256i to_half(__m256i x) {
  return BF8 ? x : _mm256_and_si256(_mm256_srai_epi16(x, 1), _mm256_set1_epi16((short)0xbf80));
}

// Four bytes of eight lanes: T[0..3][0..7]
template <bool BF8, class Number> inline void decode_8_lanes(const uint32_t* v, Number* t, int stride) {
  const __m256i by_byte = _mm256_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15, 0, 4, 8, 12,
                                           1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m256i join_halves = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  __m256i x = _mm256_shuffle_epi8(_mm256_loadu_si256((const __m256i*)v), by_byte);
  x = _mm256_permutevar8x32_epi32(x, join_halves); // byte 0 of the eight lanes, byte 1, 2, 3
  const __m256i even = to_half<BF8>(_mm256_unpacklo_epi8(_mm256_setzero_si256(), x));
  const __m256i odd = to_half<BF8>(_mm256_unpackhi_epi8(_mm256_setzero_si256(), x));
  store(t, _mm256_castsi256_si128(even));
  store(t + stride, _mm256_castsi256_si128(odd));
  store(t + 2 * stride, _mm256_extracti128_si256(even, 1));
  store(t + 3 * stride, _mm256_extracti128_si256(odd, 1));
}
template <bool BF8, class Number> void decode(const uint32_t* v, int size, int registers, Number* t) {
  for (int i = 0; i < registers; i++)
    for (int l = 0; l < 64; l += 8) {
      const int k = 4 * (l / size * registers + i);
      decode_8_lanes<BF8>(v + i * 64 + l, t + k * size + l % size, size);
    }
}
template <class Number> void decode(const uint32_t* v, int size, int registers, Fp8Format f, Number* t) {
  f.bf8 ? decode<true>(v, size, registers, t) : decode<false>(v, size, registers, t);
}
// NaN, infinity and codes that only look so as half precision
void decode_special(const uint32_t* v, int size, int registers, Fp8Format f, double* t) {
  const float* values = fp8_values(f);
  for (int i = 0; i < registers; i++)
    for (int l = 0; l < 64; l++)
      for (int j = 0; j < 4; j++)
        t[(4 * (l / size * registers + i) + j) * size + l % size] = values[v[i * 64 + l] >> (8 * j) & 255];
}

// ---- the product ----------------------------------------------------------------------------------------
template <class Number> struct Product {
  const Number *a, *b;
  Number scale;
  const MfmaOperands* o;
}; // A[k][row], B[k][column]

constexpr int COLUMNS = 16;
template <class Number> struct Row {
  typedef Number type __attribute__((vector_size(COLUMNS * sizeof(Number))));
  typedef type unaligned __attribute__((aligned(4)));
};

template <class V> [[gnu::always_inline]] inline void multiply_add(V& sum, const V& x, const V& y) {
#ifdef __clang__
  sum = __builtin_elementwise_fma(x, y, sum);
#else
  sum += x * y; // the same, for the product is exact
#endif
}

template <class Number>
[[gnu::always_inline]] inline void finish(const Product<Number>& p, int offset,
                                          const typename Row<Number>::type& sum) {
  typedef Row<float>::type Floats;
  const Floats c =
      p.o->c ? *(const Row<float>::unaligned*)(p.o->c + offset) : asf(p.o->constant_c) - Floats{};
  const typename Row<Number>::type wide =
      __builtin_convertvector(c, typename Row<Number>::type) + sum * p.scale;
  *(Row<float>::unaligned*)(p.o->d + offset) = __builtin_convertvector(wide, Floats);
}

// ROWS x 16 outputs at a time, as many as the vector registers hold
template <int ROWS, class Number>
[[gnu::always_inline]] inline void multiply(const Product<Number>& p, int size, int depth) {
  typedef typename Row<Number>::type V;
  for (int column = 0; column < size; column += COLUMNS)
    for (int row = 0; row < size; row += ROWS) {
      V sum[ROWS] = {};
      for (int k = 0; k < depth; k++) {
        const V b = *(const V*)(p.b + k * size + column);
        for (int i = 0; i < ROWS; i++) multiply_add(sum[i], p.a[k * size + row + i] - V{}, b);
      }
      for (int i = 0; i < ROWS; i++) finish(p, mfma_row_offset(size, row + i) + column, sum[i]);
    }
}

// AVX-512, where the machine has it: 32 registers of 64 bytes hold more than 16 of 32
#ifdef __clang__
#define AVX512 [[gnu::target("arch=x86-64-v4"), clang::min_vector_width(512)]]
#else
#define AVX512 [[gnu::target("arch=x86-64-v4,prefer-vector-width=512")]]
#endif
AVX512 void multiply_v4(const Product<float>& p, int size, int depth) { multiply<8>(p, size, depth); }
AVX512 void multiply_v4(const Product<double>& p, int size, int depth) { multiply<8>(p, size, depth); }
void multiply_v3(const Product<float>& p, int size, int depth) { multiply<4>(p, size, depth); }
void multiply_v3(const Product<double>& p, int size, int depth) { multiply<2>(p, size, depth); }
const bool has_v4 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd");

void multiply(const Product<float>& p, int size, int depth) {
  has_v4 ? multiply_v4(p, size, depth) : multiply_v3(p, size, depth);
}
void multiply(const Product<double>& p, int size, int depth) {
  has_v4 ? multiply_v4(p, size, depth) : multiply_v3(p, size, depth);
}

constexpr int MOST_VALUES = 32 * 64; // and 16 x 128: the largest shapes
template <class Number> struct Operands {
  alignas(64) Number a[MOST_VALUES], b[MOST_VALUES];
};

template <class Number> void multiply_as(const MfmaShape& s, const MfmaOperands& o, int registers) {
  static Operands<Number> t;
  decode(o.a, s.size, registers, s.format(s.a), t.a);
  decode(o.b, s.size, registers, s.format(s.b), t.b);
  const int scale = half_scale(s.format(s.a)) + half_scale(s.format(s.b));
  multiply(Product<Number>{t.a, t.b, scale < 0 ? Number(1) / Number(1 << -scale) : Number(1 << scale), &o},
           s.size, s.depth);
}
void multiply_special(const MfmaShape& s, const MfmaOperands& o, int registers) {
  static Operands<double> t;
  decode_special(o.a, s.size, registers, s.format(s.a), t.a);
  decode_special(o.b, s.size, registers, s.format(s.b), t.b);
  multiply(Product<double>{t.a, t.b, 1, &o}, s.size, s.depth);
}

} // namespace

void mfma_fp8_exact(const MfmaShape& s, const MfmaOperands& o) {
  const Fp8Format fa = s.format(s.a), fb = s.format(s.b);
  const int registers = s.depth * s.size / 256; // of 64 lanes with four bytes
  const Range a = range_of(o.a, registers, fa), b = range_of(o.b, registers, fb);
  if (a.special || b.special) return multiply_special(s, o, registers);
  const int bits = bits_of_sum(a, fa.mantissa_bits(), b, fb.mantissa_bits(), s.depth);
  bits <= 24 ? multiply_as<float>(s, o, registers) : multiply_as<double>(s, o, registers);
}

} // namespace amdsim
