#include "fuzz/input_buffer.hpp"

#include <algorithm>
#include <cstring>

namespace mqalab {
namespace {

int64_t total_bytes(const std::vector<ByteRange>& ranges) {
  int64_t total = 0;
  for (const ByteRange& r : ranges) total += r.end - r.begin;
  return total;
}

} // namespace

std::vector<ByteRange> compared_pieces(const std::vector<ByteRange>& filled) {
  const int64_t total = total_bytes(filled);
  if (total <= kComparedWhole_bytes) return filled;
  std::vector<ByteRange> pieces;
  size_t range = 0;
  int64_t before = 0; // filled bytes in front of that range
  for (int64_t i = 0; i < kPieces; ++i) {
    int64_t at = i * (total - kPiece_bytes) / (kPieces - 1);
    for (const int64_t end = at + kPiece_bytes; at < end;) {
      const auto size = [&] { return filled[range].end - filled[range].begin; };
      while (at >= before + size()) before += size(), ++range;
      const int64_t count = std::min(end, before + size()) - at;
      const int64_t begin = filled[range].begin + at - before;
      pieces.push_back({begin, begin + count});
      at += count;
    }
  }
  return pieces;
}

void InputBuffer::put(const SparseBuffer& from) { put(from.filled(), from.size(), from.data()); }

void InputBuffer::put(const std::vector<ByteRange>& filled, int64_t bytes, const uint8_t* from) {
  resize(bytes);
  for (const ByteRange& r : filled) upload(r.begin, from + r.begin, r.end - r.begin);
  pieces_ = compared_pieces(filled);
  kept_.clear();
  for (const ByteRange& r : pieces_) kept_.insert(kept_.end(), from + r.begin, from + r.end);
}

void InputBuffer::accept() {
  uint8_t* to = kept_.data();
  for (const ByteRange& r : pieces_) download(r.begin, to, r.end - r.begin), to += r.end - r.begin;
}

std::optional<ChangedByte> InputBuffer::first_change() const {
  std::vector<uint8_t> now;
  const uint8_t* was = kept_.data();
  for (const ByteRange& r : pieces_) {
    const auto count = static_cast<size_t>(r.end - r.begin);
    now.resize(count);
    download(r.begin, now.data(), r.end - r.begin);
    if (count && std::memcmp(now.data(), was, count) != 0) {
      const auto at = std::mismatch(now.begin(), now.end(), was);
      return ChangedByte{r.begin + (at.first - now.begin()), *at.second, *at.first};
    }
    was += count;
  }
  return {};
}

std::optional<ChangedInput> first_changed(std::initializer_list<NamedInput> inputs) {
  for (const NamedInput& in : inputs)
    if (const auto byte = in.buffer.first_change()) return ChangedInput{in.name, *byte};
  return {};
}

} // namespace mqalab
