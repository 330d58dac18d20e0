// Anonymous memory that the kernel hands out page by page: address space is free, only touched pages cost.
#include "refimpl/sparse_buffer.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

namespace mqalab {

std::vector<ByteRange> joined(std::vector<ByteRange> ranges) {
  std::sort(ranges.begin(), ranges.end());
  std::vector<ByteRange> result;
  for (const ByteRange& range : ranges) {
    if (range.begin >= range.end) continue;
    if (!result.empty() && range.begin <= result.back().end)
      result.back().end = std::max(result.back().end, range.end);
    else
      result.push_back(range);
  }
  return result;
}

SparseBuffer::SparseBuffer(int64_t bytes) : size_(bytes) {
  if (bytes < 0) throw std::bad_alloc();
  if (bytes == 0) return;
  void* memory = mmap(nullptr, size_t(bytes), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<uint8_t*>(memory);
}

SparseBuffer::~SparseBuffer() {
  if (data_) munmap(data_, size_t(size_));
}

SparseBuffer::SparseBuffer(SparseBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)),
      filled_(std::exchange(other.filled_, {})), sorted_(std::exchange(other.sorted_, true)) {}

SparseBuffer& SparseBuffer::operator=(SparseBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(filled_, other.filled_);
  std::swap(sorted_, other.sorted_);
  return *this;
}

std::span<uint8_t> SparseBuffer::fill(int64_t offset, int64_t count) {
  if (offset < 0 || count < 0 || offset > size_ - count)
    throw std::out_of_range("SparseBuffer: bytes [" + std::to_string(offset) + ", +" + std::to_string(count) +
                            ") of a buffer of " + std::to_string(size_) + " bytes");
  // Ascending neighbours, the usual order, extend the last range; so a dense fill stays one range.
  if (!filled_.empty() && offset >= filled_.back().begin && offset <= filled_.back().end) {
    filled_.back().end = std::max(filled_.back().end, offset + count);
  } else if (count > 0) {
    sorted_ = sorted_ && (filled_.empty() || offset > filled_.back().end);
    filled_.push_back({offset, offset + count});
  }
  return {data_ + offset, size_t(count)};
}

const std::vector<ByteRange>& SparseBuffer::filled() const {
  if (!sorted_) filled_ = joined(std::move(filled_));
  sorted_ = true;
  return filled_;
}

} // namespace mqalab
