// AMDSIM_MFMA=cdna3 against a model of its own, written from the text of the published one: one output at a time, in
// integers of 128 bits, so that nothing is shared with the simulator's way. Run with AMDSIM_MFMA=cdna3.
#include "check.h"
#include <random>

typedef float v4f __attribute__((ext_vector_type(4)));
typedef float v16f __attribute__((ext_vector_type(16)));

// ---- the model ---------------------------------------------------------------------------------------------------------
namespace model {

typedef __int128 Big;
constexpr int SCALE = 320;  // enough for every exponent that occurs to be positive

struct Term { int significand, exponent; bool nan; };  // significand / 8 * 2^exponent
Term term(uint8_t code, bool bf8) {                    // FNUZ, which gfx942 has
  const int mantissa_bits = bf8 ? 2 : 3, bias = bf8 ? 16 : 8;
  const int field = (code & 127) >> mantissa_bits, mantissa = code & ((1 << mantissa_bits) - 1);
  const int significand = (field ? (1 << mantissa_bits) + mantissa : mantissa) * (bf8 ? 2 : 1);
  return {code > 128 ? -significand : code == 128 ? 0 : significand, (field ? field : 1) - bias, code == 128};
}
// x / 2^from in units of 2^-to
Big truncate(Big x, int from, int to) { return from <= to ? x << (to - from) : x / ((Big)1 << (from - to)); }
Big floored(Big x, int from, int to) {
  if (from <= to) return x << (to - from);
  const Big unit = (Big)1 << (from - to);
  return x >= 0 ? x / unit : -((-x + unit - 1) / unit);
}
struct Product { int significand, exponent; };  // significand / 64 * 2^exponent
struct Half { Big sum; int exponent; };         // sum / 2^24 * 2^exponent
Half half(const Product* p) {
  int largest = -126;
  for (int i = 0; i < 16; i += 2)
    if (p[i].significand) largest = std::max(largest, p[i].exponent);
  Half h{0, largest};
  for (int i = 0; i < 16; i += 2)
    if (p[i].significand && largest - p[i].exponent < 60) h.sum += truncate(p[i].significand, 6 + largest - p[i].exponent, 24);
  return h;
}
Big align(const Half& h, int exponent) {
  const int down = exponent - h.exponent;
  return down > 60 ? (h.sum < 0 ? -1 : 0) : floored(h.sum, 24 + down, 24);
}
float step(const Product* p, float accumulator) {
  const Half even = half(p), odd = half(p + 1);
  const int exponent = std::max(even.exponent, odd.exponent);
  const Big sum = align(even, exponent) + align(odd, exponent);
  int acc_exponent = -126;  // also of a subnormal
  if (std::fabs(accumulator) >= 0x1p-126f) acc_exponent = std::ilogb(accumulator);
  const Big significand = (Big)std::ldexp((double)accumulator, 23 - acc_exponent);
  const int largest = std::max(exponent, acc_exponent), sum_down = largest - exponent, acc_down = largest - acc_exponent;
  const Big wide = sum_down > 90 ? (sum < 0 ? -1 : 0) : floored(sum, 24 + sum_down, 31);
  const Big kept = acc_exponent < largest - 25 ? 0 : floored(significand, 23 + acc_down, 24);
  return (float)std::ldexp((double)(wide + (kept << 7)), largest - 31);
}

struct Matrices { int size, depth; bool a_bf8, b_bf8; std::vector<uint8_t> a, b; std::vector<float> c; };  // a[row][k], b[k][column]
float output(const Matrices& m, int row, int column) {
  float acc = m.c[row * m.size + column];
  for (int k = 0; k < m.depth; k += 16) {
    Product p[16];
    for (int i = 0; i < 16; i++) {
      const Term x = term(m.a[row * m.depth + k + i], m.a_bf8), y = term(m.b[(k + i) * m.size + column], m.b_bf8);
      if (x.nan || y.nan || std::isnan(acc)) return NAN;
      p[i] = {x.significand * y.significand, x.exponent + y.exponent};
    }
    if (!std::isinf(acc)) acc = step(p, acc);
  }
  return acc;
}

}  // namespace model

// ---- the device ----------------------------------------------------------------------------------------------------------
// Operands as registers hold them: two words of A and of B a lane, size * size / 64 outputs
template <int KIND>
__global__ void multiply(const long* a, const long* b, const float* c, float* d) {
#ifdef __HIP_DEVICE_COMPILE__
  const int l = threadIdx.x;
  constexpr bool LARGE = KIND >= 4;
  constexpr int OUTPUTS = LARGE ? 16 : 4;
  typename std::conditional<LARGE, v16f, v4f>::type x;
  for (int i = 0; i < OUTPUTS; i++) x[i] = c[i * 64 + l];
  if constexpr (KIND == 0) x = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(a[l], b[l], x, 0, 0, 0);
  if constexpr (KIND == 1) x = __builtin_amdgcn_mfma_f32_16x16x32_fp8_bf8(a[l], b[l], x, 0, 0, 0);
  if constexpr (KIND == 2) x = __builtin_amdgcn_mfma_f32_16x16x32_bf8_fp8(a[l], b[l], x, 0, 0, 0);
  if constexpr (KIND == 3) x = __builtin_amdgcn_mfma_f32_16x16x32_bf8_bf8(a[l], b[l], x, 0, 0, 0);
  if constexpr (KIND == 4) x = __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8(a[l], b[l], x, 0, 0, 0);
  if constexpr (KIND == 5) x = __builtin_amdgcn_mfma_f32_32x32x16_fp8_bf8(a[l], b[l], x, 0, 0, 0);
  if constexpr (KIND == 6) x = __builtin_amdgcn_mfma_f32_32x32x16_bf8_fp8(a[l], b[l], x, 0, 0, 0);
  if constexpr (KIND == 7) x = __builtin_amdgcn_mfma_f32_32x32x16_bf8_bf8(a[l], b[l], x, 0, 0, 0);
  for (int i = 0; i < OUTPUTS; i++) d[i * 64 + l] = x[i];
#endif
}
typedef void (*Kernel)(const long*, const long*, const float*, float*);
constexpr Kernel kernels[8] = {multiply<0>, multiply<1>, multiply<2>, multiply<3>, multiply<4>, multiply<5>, multiply<6>, multiply<7>};

model::Matrices empty(int kind) {
  const int size = kind < 4 ? 16 : 32, depth = kind < 4 ? 32 : 16;
  return {size, depth, bool(kind & 2), bool(kind & 1), std::vector<uint8_t>(512), std::vector<uint8_t>(512), std::vector<float>(size * size)};
}
int row_of(int size, int i, int l) { return size == 16 ? 4 * (l / 16) + i : 8 * (i / 4) + 4 * (l / 32) + i % 4; }
std::vector<float> on_device(int kind, const model::Matrices& m) {
  const int outputs = m.size * m.size / 64;
  std::vector<uint8_t> a(512), b(512);
  std::vector<float> c(outputs * 64);
  for (int l = 0; l < 64; l++)
    for (int j = 0; j < 8; j++) {
      const int k = l / m.size * 8 + j;
      a[l * 8 + j] = m.a[l % m.size * m.depth + k];
      b[l * 8 + j] = m.b[k * m.size + l % m.size];
    }
  for (int i = 0; i < outputs; i++)
    for (int l = 0; l < 64; l++) c[i * 64 + l] = m.c[row_of(m.size, i, l) * m.size + l % m.size];
  static Buf<uint8_t> da(512), db(512);
  static Buf<float> dc(1024), dd(1024);
  OK(hipMemcpy(da, a.data(), 512, hipMemcpyHostToDevice));
  OK(hipMemcpy(db, b.data(), 512, hipMemcpyHostToDevice));
  OK(hipMemcpy(dc, c.data(), c.size() * 4, hipMemcpyHostToDevice));
  kernels[kind]<<<1, 64>>>((long*)da.d, (long*)db.d, dc, dd);
  const std::vector<float> d = dd.get();
  std::vector<float> out(m.size * m.size);
  for (int i = 0; i < outputs; i++)
    for (int l = 0; l < 64; l++) out[row_of(m.size, i, l) * m.size + l % m.size] = d[i * 64 + l];
  return out;
}
bool same(float x, float y) { return memcmp(&x, &y, 4) == 0 || (x != x && y != y); }

// ---- random data -----------------------------------------------------------------------------------------------------------
std::mt19937 rng(7);
uint8_t encode(float x, bool bf8) {  // the nearest of all codes
  int best = 0;
  double distance = INFINITY;
  for (int code = 0; code < 256; code++) {
    const model::Term t = model::term(code, bf8);
    const double d = std::fabs(std::ldexp(t.significand / 8.0, t.exponent) - x);
    if (!t.nan && d < distance) distance = d, best = code;
  }
  return best;
}
enum Data { bytes, gaussian, powers, with_nan, DATA };
uint8_t value(Data d, bool bf8) {
  const uint8_t any = rng() & 255;
  const uint8_t power = (rng() & 128) | (rng() % (bf8 ? 31 : 15) + 1) << (bf8 ? 2 : 3);
  if (d == gaussian) return encode(16 * std::normal_distribution<float>()(rng), bf8);
  if (d == powers) return power;
  return any == 128 && (d == bytes || rng() % 4) ? 0 : any;
}
float accumulator(Data d) {
  switch (rng() % 6) {
    case 0: return 0;
    case 1: return -0.f;
    case 2: return std::ldexp((float)(int)rng(), -31 + (int)(rng() % 60) - 30);
    case 3: return d == with_nan ? INFINITY : 0x1.fffffep-127f;  // subnormal
    case 4: return std::ldexp((float)(int)rng(), -31 + (int)(rng() % 220) - 110);
  }
  return 100 * std::normal_distribution<float>()(rng);
}
void random_case(int kind, Data data) {
  model::Matrices m = empty(kind);
  for (auto& x : m.a) x = value(data, m.a_bf8);
  for (auto& x : m.b) x = value(data, m.b_bf8);
  for (auto& x : m.c) x = accumulator(data);
  const std::vector<float> got = on_device(kind, m);
  int wrong = 0, first = -1;
  for (int i = 0; i < m.size * m.size; i++)
    if (!same(got[i], model::output(m, i / m.size, i % m.size)) && wrong++ == 0) first = i;
  CHECK(!wrong, "kind %d, data %d: %d wrong, first %d: got %a, model %a", kind, data, wrong, first, first < 0 ? 0 : got[first],
        first < 0 ? 0 : model::output(m, first / m.size, first % m.size));
}

// ---- what a device probe sees, worked out by hand from the text --------------------------------------------------------------
// Element (0, 0) of a 32x32x16 product of one row and one column of E4M3 powers of two
struct Probe {
  model::Matrices m = empty(4);
  void product(int k, float a, float b) { m.a[k] = encode(a, false); m.b[k * m.size] = encode(b, false); }
  float run(float c = 0) { m.c[0] = c; return on_device(4, m)[0]; }
};
float cancelled(float small_a, float small_b, int k) {  // 2^14 - 2^14 + small, the pair in even places
  Probe p;
  p.product(0, 128, 128);
  p.product(2, -128, 128);
  p.product(k, small_a, small_b);
  return p.run();
}
void probe() {
  // kept bits: 24 below the largest product, in the same half and in the other
  CHECK(cancelled(0x1p-5f, 0x1p-5f, 4) == 0x1p-10f);
  CHECK(cancelled(0x1p-5f, 0x1p-6f, 4) == 0);
  CHECK(cancelled(0x1p-5f, 0x1p-5f, 1) == 0x1p-10f);
  CHECK(cancelled(0x1p-5f, 0x1p-6f, 1) == 0);
  // within a half the small negative product is cut off towards zero; the alignment of the halves floors it
  CHECK(cancelled(-0x1p-5f, 0x1p-6f, 4) == 0);
  CHECK(cancelled(-0x1p-5f, 0x1p-6f, 1) == -0x1p-10f);
  // the accumulator: floored at 24 bits, dropped when its exponent is below E - 25
  Probe big;
  big.product(0, 128, 128);
  big.product(2, -128, 128);
  CHECK(big.run(0x1p-10f) == 0x1p-10f);
  CHECK(big.run(0x1p-11f) == 0);
  CHECK(big.run(-0x1p-11f) == -0x1p-10f);
  CHECK(big.run(-0x1p-12f) == 0);
  // a large accumulator keeps 31 bits of the sum below it, floored, before the one rounding
  Probe small;
  small.product(0, -0x1p-5f, 0x1p-6f);
  CHECK(small.run(0x1p30f) == 0x1p30f);
  CHECK(small.run(0x1p13f) == 0x1p13f - 0x1p-11f);
  // subnormals are not flushed, 0.5 * 0.5 is FNUZ's 0x38 times itself, 0x80 is a NaN
  Probe tiny;
  tiny.product(3, 0x1p-10f, 0x1p-10f);
  CHECK(tiny.run() == 0x1p-20f);
  CHECK(tiny.run(0x1p-149f) == 0x1p-20f);
  Probe flavour;
  flavour.m.a[0] = flavour.m.b[0] = 0x38;
  CHECK(flavour.run() == 0.25f);
  flavour.m.a[0] = 0x80;
  CHECK(std::isnan(flavour.run()));
}

int main() {
  probe();
  for (int kind = 0; kind < 8; kind++)
    for (int data = 0; data < DATA; data++)
      for (int i = 0; i < (data == gaussian ? 2 : 8); i++) random_case(kind, (Data)data);
  return done("mfma_cdna3");
}
