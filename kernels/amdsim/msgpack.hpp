// MessagePack, as much as the metadata of AMDGPU code objects uses.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace amdsim {

struct MsgpackValue {
  enum Kind { Nil, Int, Str, Array, Map } kind = Nil;
  int64_t number = 0;
  std::string text;
  std::vector<MsgpackValue> items; // of a map: key, value, key, value

  const MsgpackValue* get(const char* key) const; // of a map; nullptr: not there
  int64_t number_at(const char* key, int64_t fallback) const;
  std::string text_at(const char* key) const;
};

// Throws BadCodeObject where the bytes end early or are no MessagePack.
MsgpackValue unpack_msgpack(const uint8_t* data, size_t bytes);

} // namespace amdsim
