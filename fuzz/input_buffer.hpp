// An input of launches on the device, and what it must still hold after each of them.
#pragma once
#include "fuzz/device_buffer.hpp"
#include "refimpl/sparse_buffer.hpp"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

namespace mqalab {

// What of an input is compared after a launch: everything up to kComparedWhole_bytes; of a larger one
// kPieces pieces of kPiece_bytes each, evenly spaced over what is filled, the first and the last bytes too.
inline constexpr int64_t kPieces = 256, kPiece_bytes = 64 << 10;
inline constexpr int64_t kComparedWhole_bytes = kPieces * kPiece_bytes;
// `filled`: ascending, disjoint.
std::vector<ByteRange> compared_pieces(const std::vector<ByteRange>& filled);

struct ChangedByte {
  int64_t offset_bytes = 0;
  uint8_t expected = 0, got = 0;
};

// Private: whatever goes into the buffer by another way would count as a launch's doing.
class InputBuffer : private DeviceBuffer {
public:
  using DeviceBuffer::DeviceBuffer, DeviceBuffer::data;

  // Exactly as long as the tensor, and only what is filled of it copied.
  void put(const SparseBuffer&);
  template <class T> void put(const std::vector<T>& from) {
    const auto bytes = static_cast<int64_t>(from.size() * sizeof(T));
    put({{0, bytes}}, bytes, reinterpret_cast<const uint8_t*>(from.data()));
  }
  // A launch was to write into it: what it left is what must stay.
  void accept();
  std::optional<ChangedByte> first_change() const;

private:
  void put(const std::vector<ByteRange>& filled, int64_t bytes, const uint8_t* from);

  std::vector<ByteRange> pieces_;
  std::vector<uint8_t> kept_; // piece after piece
};

struct NamedInput {
  std::string_view name;
  const InputBuffer& buffer;
};
struct ChangedInput {
  std::string_view name;
  ChangedByte byte;
};
// The first of them that holds another byte than it must.
std::optional<ChangedInput> first_changed(std::initializer_list<NamedInput>);

} // namespace mqalab
