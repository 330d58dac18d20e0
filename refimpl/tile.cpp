// Bytes to doubles and exponents, and the two products that take nearly all of the reference's time.
#include "refimpl/tile.hpp"
#include "refimpl/fp8.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace mqalab {

namespace {

// NaN codes decode to 0: what they do is decided apart.
std::array<double, 256> finite_table(mqa_fp8 flavour) {
  std::array<double, 256> table = fp8_table(flavour);
  for (double& value : table)
    if (std::isnan(value)) value = 0;
  return table;
}

const std::array<double, 256>& values(mqa_fp8 flavour) {
  static const std::array<double, 256> fn = finite_table(MQA_E4M3FN), fnuz = finite_table(MQA_E4M3FNUZ);
  return flavour == MQA_E4M3FN ? fn : fnuz;
}

int bias(mqa_fp8 flavour) { return flavour == MQA_E4M3FN ? 7 : 8; }
double smallest_normal(mqa_fp8 flavour) { return std::ldexp(1.0, 1 - bias(flavour)); }

bool has_nan(mqa_fp8 flavour, const uint8_t* bytes, int32_t count) {
  int found = 0;
  if (flavour == MQA_E4M3FN)
    for (int32_t i = 0; i < count; ++i) found |= (bytes[i] & 0x7F) == 0x7F;
  else
    for (int32_t i = 0; i < count; ++i) found |= bytes[i] == 0x80;
  return found != 0;
}

void decode(mqa_fp8 flavour, const uint8_t* bytes, int32_t count, double* out) {
  const auto& table = values(flavour);
  for (int32_t i = 0; i < count; ++i) out[i] = table[bytes[i]];
}

// No branch and bytes only, so that compilers make it 32 lanes wide.
void exponents(mqa_fp8 flavour, const uint8_t* bytes, int32_t count, int8_t* out) {
  const int8_t offset = int8_t(bias(flavour));
  for (int32_t i = 0; i < count; ++i) {
    const int8_t field = int8_t(bytes[i] >> 3 & 15);
    const int8_t normal = field > 1 ? field : int8_t{1};
    out[i] = (bytes[i] & 0x7F) == 0 ? kNoExponent : int8_t(normal - offset);
  }
}

template <class Values> Eigen::MatrixXd magnitudes(const Values& value, double floor) {
  return (value.array() == 0).select(0.0, value.array().abs().max(floor)).matrix();
}

// Plain minima and maxima of bytes, 32 at a time: a zero, below all others, is the largest once shifted and
// unsigned.
ExponentRange range_of(const int8_t* exponent, size_t count) {
  uint8_t least = 255;
  int8_t most = kNoExponent;
  for (size_t i = 0; i < count; ++i) {
    const uint8_t above_zero = uint8_t(exponent[i] - (kNoExponent + 1));
    least = above_zero < least ? above_zero : least;
    most = exponent[i] > most ? exponent[i] : most;
  }
  return {least + kNoExponent + 1, most};
}

// A value is a multiple of 2^(least - 3) and below 2^(most + 1); so all partial sums of a dot are multiples
// of a unit and, when this holds, no more than 2^24 of it.
bool exact_in_float(const ExponentRange& q, const ExponentRange& k, int64_t head_dim) {
  const int bits = (q.most + 1) + (k.most + 1) - (q.least - 3) - (k.least - 3);
  return bits < 24 && head_dim << std::max(bits, 0) <= 1 << 24;
}

float load_float(const uint8_t* bytes) {
  float value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

// The bytes of a token, contiguous: copied together only where the layout scatters them.
const uint8_t* token_bytes(const Problem& p, const Tensors& tensors, int64_t block, int32_t token,
                           uint8_t* scratch) {
  const uint8_t* cache = tensors.kv_cache.data();
  if (p.layout == MQA_PLANAR) return cache + value_offset_bytes(p, block, token, 0);
  for (int32_t d = 0; d < p.head_dim; d += 16)
    std::memcpy(scratch + d, cache + value_offset_bytes(p, block, token, d), 16);
  return scratch;
}

} // namespace

QueryTile load_queries(const Problem& p, const Tensors& tensors, int64_t first_row, int32_t rows) {
  QueryTile q;
  const int64_t columns = int64_t{rows} * p.heads;
  q.rows = rows, q.heads = p.heads;
  q.value.resize(p.head_dim, columns);
  q.padded_columns = (columns + kLanes - 1) / kLanes * kLanes;
  q.exponent.assign(p.head_dim * q.padded_columns, kNoExponent);
  q.nan.resize(columns);
  q.weights.resize(p.heads, rows);
  std::vector<int8_t> exponent(p.head_dim);
  for (int64_t column = 0; column < columns; ++column) {
    const int64_t row = first_row + column / p.heads, head = column % p.heads;
    const uint8_t* bytes = tensors.q.data() + query_offset_bytes(p, row, int32_t(head), 0);
    decode(p.fp8, bytes, p.head_dim, q.value.col(column).data());
    exponents(p.fp8, bytes, p.head_dim, exponent.data());
    q.nan[column] = has_nan(p.fp8, bytes, p.head_dim);
    if (q.nan[column]) { // every dot of this head is NaN: whoever turns that into 0 finds zeros here
      q.value.col(column).setZero();
      std::fill(exponent.begin(), exponent.end(), kNoExponent);
    }
    for (int32_t d = 0; d < p.head_dim; ++d) q.exponent[d * q.padded_columns + column] = exponent[d];
    q.weights(head, column / p.heads) =
        load_float(tensors.weights.data() + 4 * (row * p.weights_stride + head));
  }
  q.range = range_of(q.exponent.data(), q.exponent.size());
  q.magnitude = magnitudes(q.value, smallest_normal(p.fp8));
  q.weighted.resize(p.head_dim, rows);
  for (int32_t r = 0; r < rows; ++r)
    q.weighted.col(r) = q.magnitude.middleCols(int64_t{r} * p.heads, p.heads) * q.weights.col(r).cwiseAbs();
  return q;
}

KeyTile::KeyTile(int32_t head_dim)
    : value(head_dim, kTokens), magnitude(head_dim, kTokens), exponent(size_t(kTokens) * head_dim),
      nan(kTokens), scale(kTokens) {}

void KeyTile::add(const Problem& p, const Tensors& tensors, int64_t block, int32_t token) {
  uint8_t scratch[256];
  const uint8_t* bytes = token_bytes(p, tensors, block, token, scratch);
  decode(p.fp8, bytes, p.head_dim, value.col(count).data());
  exponents(p.fp8, bytes, p.head_dim, exponent.data() + size_t(count) * p.head_dim);
  nan[count] = has_nan(p.fp8, bytes, p.head_dim);
  scale[count] = load_float(tensors.scales(p).data() + scale_offset_bytes(p, block, token));
  ++count;
}

void KeyTile::finish(const Problem& p, bool with_magnitude) {
  range = range_of(exponent.data(), size_t(count) * p.head_dim);
  if (with_magnitude) magnitude.leftCols(count) = magnitudes(value.leftCols(count), smallest_normal(p.fp8));
}

void dots(const QueryTile& q, const KeyTile& k, Eigen::MatrixXd& out) {
  const auto keys = k.value.leftCols(k.count);
  if (exact_in_float(q.range, k.range, q.value.rows())) {
    const Eigen::MatrixXf narrow = q.value.cast<float>().transpose() * keys.cast<float>();
    out = narrow.cast<double>();
  } else {
    out.noalias() = q.value.transpose() * keys;
  }
}

namespace {

typedef int8_t Exponents __attribute__((vector_size(kLanes), aligned(1), may_alias));

// Four tokens at a time share the loads of the query side and hide each other's latency.
void largest_of_four(const QueryTile& q, int64_t column, const int8_t* const key[4], int32_t head_dim,
                     int8_t* const out[4]) {
  Exponents best[4] = {};
  for (Exponents& lanes : best) lanes += int8_t(2 * kNoExponent);
  const int8_t* query = q.exponent.data() + column;
  for (int32_t d = 0; d < head_dim; ++d, query += q.padded_columns) {
    const Exponents lanes = *reinterpret_cast<const Exponents*>(query);
    for (int i = 0; i < 4; ++i) {
      const Exponents sum = lanes + key[i][d];
      best[i] = sum > best[i] ? sum : best[i];
    }
  }
  for (int i = 0; i < 4; ++i) std::memcpy(out[i] + column, &best[i], sizeof best[i]);
}

std::array<double, 256> make_powers() {
  std::array<double, 256> powers{};
  for (int e = -24; e < 32; ++e) powers[e + 128] = std::ldexp(1.0, e);
  return powers;
}
const std::array<double, 256> kPowers = make_powers();

} // namespace

double power_of(int8_t exponent) { return kPowers[exponent + 128]; }

void largest_exponents(const QueryTile& q, const KeyTile& k, std::vector<int8_t>& out) {
  const int32_t head_dim = int32_t(q.value.rows());
  out.resize((size_t(k.count) + 3) / 4 * 4 * q.padded_columns);
  for (int token = 0; token < k.count; token += 4) {
    const int8_t* key[4];
    int8_t* result[4];
    for (int i = 0; i < 4; ++i) {
      // Past the last token the last one is done again.
      key[i] = k.exponent.data() + size_t(std::min(token + i, k.count - 1)) * head_dim;
      result[i] = out.data() + size_t(token + i) * q.padded_columns;
    }
    for (int64_t column = 0; column < q.padded_columns; column += kLanes)
      largest_of_four(q, column, key, head_dim, result);
  }
}

} // namespace mqalab
