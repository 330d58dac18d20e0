// The canonical record: "MQC", one version byte, then (tag, varint) pairs in one fixed order, fields at their
// default left out.  Numbers come first, lists after them: pairs that set registers, then one that commits an
// entry.  Signed numbers are zigzag.  Unknown tags are skipped, missing ones keep the default, numbers too
// large for their field saturate and enumerators wrap, so that any bytes decode.  Example, 6 bytes: 4d 51 43
// 01 | 02 04 is a case of batch 2.
#include "fuzz/case.hpp"
#include "fuzz/case_lengths.hpp"
#include "fuzz/case_names.hpp"

#include <cstring>
#include <limits>
#include <optional>

namespace mqalab {
namespace {

constexpr std::array<uint8_t, 4> kMagic{'M', 'Q', 'C', 1};
constexpr size_t kMostOverrides = 1 << 12;

// Tags are forever: a new field takes a new number, and none is used again.
enum Tag : uint64_t {
  kFp8 = 1,
  kBatch,
  kNextN,
  kHeads,
  kHeadDim,
  kBlockSize,
  kLayout,
  kMaxModelLen,
  kTail,
  kNumBlocks,
  kOperation,
  kCompressed,
  kK,
  kStable,
  kLensPerRow = 16,
  kLensEmpty,
  kLength,
  kLengthRepeats,
  kStart,
  kStartRepeats,
  kQStrideBatch = 24,
  kQStrideNext,
  kQStrideHead,
  kWeightsStride,
  kTableStride,
  kLogitsStride,
  kKvBlockStride,
  kTableMode = 32,
  kTablePadding,
  kTableSeed,
  kTablePeriod,
  kTableSetRow,
  kTableSetColumn,
  kTableSetId,
  kLane = 48,
  kPattern,
  kDataSeed,
  kDataSetTensor,
  kDataSetIndex,
  kDataSetBits,
  kVariant = 64,
  kChunkK,
  kSplitKv,
  kWavePerEu,
  kKeyType = 80,
  kScaleFormat,
  kSkipEvery,
  kLogitsHeadStride = 96,
  kKeysStride,
  kKeyScalesStride,
  kIndicesStride,
};

constexpr uint64_t zigzag(int64_t v) {
  return (static_cast<uint64_t>(v) << 1) ^ static_cast<uint64_t>(v >> 63);
}
constexpr int64_t unzigzag(uint64_t v) { return static_cast<int64_t>(v >> 1) ^ -static_cast<int64_t>(v & 1); }

void put_varint(std::vector<uint8_t>& out, uint64_t v) {
  for (; v >= 0x80; v >>= 7) out.push_back(static_cast<uint8_t>(v | 0x80));
  out.push_back(static_cast<uint8_t>(v));
}

// Nothing at the end of the record, or in a number that the record cuts short.
std::optional<uint64_t> take_varint(std::span<const uint8_t>& in) {
  uint64_t v = 0;
  for (size_t i = 0; i < in.size(); ++i) {
    if (i < 10) v |= static_cast<uint64_t>(in[i] & 0x7f) << (7 * i);
    if (in[i] & 0x80) continue;
    in = in.subspan(i + 1);
    return v;
  }
  return std::nullopt;
}

// Fields that are one number, in the order of their tags; Field is called with (tag, reference, default).
template <class C, class Field> void scalar_fields(C& c, Field field) {
  const Case unset;
  field(kFp8, c.shape.fp8, unset.shape.fp8);
  field(kBatch, c.shape.batch, unset.shape.batch);
  field(kNextN, c.shape.next_n, unset.shape.next_n);
  field(kHeads, c.shape.heads, unset.shape.heads);
  field(kHeadDim, c.shape.head_dim, unset.shape.head_dim);
  field(kBlockSize, c.shape.block_size, unset.shape.block_size);
  field(kLayout, c.shape.layout, unset.shape.layout);
  field(kMaxModelLen, c.shape.max_model_len, unset.shape.max_model_len);
  field(kTail, c.shape.tail, unset.shape.tail);
  field(kNumBlocks, c.shape.num_blocks, unset.shape.num_blocks);
  field(kOperation, c.op, unset.op);
  field(kCompressed, c.shape.compressed, unset.shape.compressed);
  field(kK, c.selection.k, unset.selection.k);
  field(kStable, c.selection.stable, unset.selection.stable);
  field(kLensPerRow, c.shape.lens_per_row, unset.shape.lens_per_row);
  field(kQStrideBatch, c.strides.q[0], unset.strides.q[0]);
  field(kQStrideNext, c.strides.q[1], unset.strides.q[1]);
  field(kQStrideHead, c.strides.q[2], unset.strides.q[2]);
  field(kWeightsStride, c.strides.weights, unset.strides.weights);
  field(kTableStride, c.strides.block_table, unset.strides.block_table);
  field(kLogitsStride, c.strides.logits, unset.strides.logits);
  field(kKvBlockStride, c.strides.kv_block, unset.strides.kv_block);
  field(kTableMode, c.block_table.mode, unset.block_table.mode);
  field(kTablePadding, c.block_table.padding, unset.block_table.padding);
  field(kTableSeed, c.block_table.seed, unset.block_table.seed);
  field(kTablePeriod, c.block_table.period, unset.block_table.period);
  field(kLane, c.data.lane, unset.data.lane);
  field(kPattern, c.data.pattern, unset.data.pattern);
  field(kDataSeed, c.data.seed, unset.data.seed);
  field(kVariant, c.config.variant, unset.config.variant);
  field(kChunkK, c.config.chunk_k, unset.config.chunk_k);
  field(kSplitKv, c.config.split_kv, unset.config.split_kv);
  field(kWavePerEu, c.config.wave_per_eu, unset.config.wave_per_eu);
  field(kKeyType, c.writer.key_type, unset.writer.key_type);
  field(kScaleFormat, c.writer.scale_format, unset.writer.scale_format);
  field(kSkipEvery, c.writer.skip_every, unset.writer.skip_every);
  field(kLogitsHeadStride, c.strides.logits_head, unset.strides.logits_head);
  field(kKeysStride, c.strides.keys, unset.strides.keys);
  field(kKeyScalesStride, c.strides.key_scales, unset.strides.key_scales);
  field(kIndicesStride, c.strides.indices, unset.strides.indices);
}

uint64_t to_wire(uint64_t v) { return v; }
uint64_t to_wire(bool v) { return v; }
template <class T> uint64_t to_wire(T v) {
  if constexpr (std::is_enum_v<T>)
    return static_cast<uint64_t>(v);
  else
    return zigzag(v);
}

void from_wire(uint64_t wire, uint64_t& out) { out = wire; }
void from_wire(uint64_t wire, bool& out) { out = wire & 1; }
template <class T> void from_wire(uint64_t wire, T& out) {
  if constexpr (std::is_enum_v<T>)
    out = static_cast<T>(wire % names_of(out).size());
  else
    out = static_cast<T>(
        std::clamp<int64_t>(unzigzag(wire), std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

struct Pair {
  uint64_t tag, wire;
};

// Equal neighbours are one run: the value, and how often it comes again.
void runs_to_pairs(const std::vector<int32_t>& values, Tag value, Tag repeats, std::vector<Pair>& out) {
  for (size_t i = 0, end; i < values.size(); i = end) {
    for (end = i + 1; end < values.size() && values[end] == values[i];) ++end;
    out.push_back({value, zigzag(values[i])});
    if (end - i > 1) out.push_back({repeats, end - i - 1});
  }
}

void lengths_to_pairs(const Shape& s, std::vector<Pair>& out) {
  if (s.context_lens == default_lengths(s)) return;
  if (s.context_lens.empty()) out.push_back({kLensEmpty, 1});
  runs_to_pairs(s.context_lens, kLength, kLengthRepeats, out);
}

// Reads what scalar_fields does not: lists, whose pairs may come many times.
struct ListReader {
  Case& c;
  bool lengths_given = false;
  TableOverride table{};
  Override data{};

  static void append(std::vector<int32_t>& values, uint64_t wire) {
    if (static_cast<int64_t>(values.size()) < kMostRows) from_wire(wire, values.emplace_back());
  }
  static void repeat(std::vector<int32_t>& values, uint64_t count) {
    if (values.empty()) return;
    values.resize(values.size() + std::min<uint64_t>(count, static_cast<uint64_t>(kMostRows) - values.size()),
                  values.back());
  }
  void length(uint64_t wire) {
    lengths_given = true;
    append(c.shape.context_lens, wire);
  }
  void commit_table(uint64_t wire) {
    from_wire(wire, table.id);
    if (c.block_table.set.size() < kMostOverrides) c.block_table.set.push_back(table);
  }
  void commit_data(uint64_t wire) {
    data.bits = static_cast<uint32_t>(std::min<uint64_t>(wire, UINT32_MAX));
    if (c.data.overrides.size() < kMostOverrides) c.data.overrides.push_back(data);
  }
  void take(const Pair& p) {
    switch (p.tag) {
    case kLensEmpty: lengths_given = true; break;
    case kLength: length(p.wire); break;
    case kLengthRepeats: repeat(c.shape.context_lens, p.wire); break;
    case kStart: append(c.shape.starts, p.wire); break;
    case kStartRepeats: repeat(c.shape.starts, p.wire); break;
    case kTableSetRow: from_wire(p.wire, table.row); break;
    case kTableSetColumn: from_wire(p.wire, table.column); break;
    case kTableSetId: commit_table(p.wire); break;
    case kDataSetTensor: from_wire(p.wire, data.tensor); break;
    case kDataSetIndex: from_wire(p.wire, data.index); break;
    case kDataSetBits: commit_data(p.wire); break;
    default: break; // a scalar, or a tag of a later version
    }
  }
};

std::vector<Pair> parse(std::span<const uint8_t> record) {
  std::vector<Pair> pairs;
  if (record.size() < kMagic.size() || std::memcmp(record.data(), kMagic.data(), kMagic.size() - 1) != 0)
    return pairs;
  std::span<const uint8_t> rest = record.subspan(kMagic.size());
  while (const auto tag = take_varint(rest)) {
    const auto wire = take_varint(rest);
    if (!wire) break;
    pairs.push_back({*tag, *wire});
  }
  return pairs;
}

} // namespace

std::vector<uint8_t> encode(const Case& c) {
  std::vector<Pair> pairs;
  scalar_fields(c, [&](Tag tag, const auto& value, const auto& unset) {
    if (value != unset) pairs.push_back({tag, to_wire(value)});
  });
  lengths_to_pairs(c.shape, pairs);
  runs_to_pairs(c.shape.starts, kStart, kStartRepeats, pairs);
  for (const TableOverride& o : c.block_table.set) {
    pairs.push_back({kTableSetRow, zigzag(o.row)});
    pairs.push_back({kTableSetColumn, zigzag(o.column)});
    pairs.push_back({kTableSetId, zigzag(o.id)});
  }
  for (const Override& o : c.data.overrides) {
    pairs.push_back({kDataSetTensor, to_wire(o.tensor)});
    pairs.push_back({kDataSetIndex, zigzag(o.index)});
    pairs.push_back({kDataSetBits, o.bits});
  }
  std::vector<uint8_t> out(kMagic.begin(), kMagic.end());
  for (const Pair& p : pairs) put_varint(out, p.tag), put_varint(out, p.wire);
  return out;
}

Case decode(std::span<const uint8_t> record) {
  Case c;
  c.shape.context_lens.clear();
  ListReader lists{c};
  for (const Pair& p : parse(record)) {
    scalar_fields(c, [&](Tag tag, auto& value, const auto&) {
      if (tag == p.tag) from_wire(p.wire, value);
    });
    lists.take(p);
  }
  if (!lists.lengths_given) c.shape.context_lens = default_lengths(c.shape);
  return c;
}

bool record_holds(const Case& c) {
  return static_cast<int64_t>(c.shape.context_lens.size()) <= kMostRows &&
         static_cast<int64_t>(c.shape.starts.size()) <= kMostRows &&
         c.block_table.set.size() <= kMostOverrides && c.data.overrides.size() <= kMostOverrides;
}

} // namespace mqalab
