// A host buffer of any size that costs only the pages that were written: pools and logits past 2^32 bytes
// stay cheap. It remembers the ranges that were filled, so that an upload copies those and nothing else.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mqalab {

struct ByteRange {
  int64_t begin = 0, end = 0;
  auto operator<=>(const ByteRange&) const = default;
};
// Sorts and joins overlapping or touching ranges.
std::vector<ByteRange> joined(std::vector<ByteRange> ranges);

class SparseBuffer {
public:
  SparseBuffer() = default;
  explicit SparseBuffer(int64_t bytes); // throws std::bad_alloc when the address space is refused
  ~SparseBuffer();
  SparseBuffer(SparseBuffer&&) noexcept;
  SparseBuffer& operator=(SparseBuffer&&) noexcept;

  uint8_t* data() const { return data_; }
  int64_t size() const { return size_; }
  // Bytes [offset, offset + count), remembered as filled.  Throws std::out_of_range.
  std::span<uint8_t> fill(int64_t offset, int64_t count);
  // The ranges filled so far, sorted and joined.
  const std::vector<ByteRange>& filled() const;

private:
  uint8_t* data_ = nullptr;
  int64_t size_ = 0;
  mutable std::vector<ByteRange> filled_;
  mutable bool sorted_ = true;
};

} // namespace mqalab
