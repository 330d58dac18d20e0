// One recursive reader; a value's first byte says what it is and, for small values, how long.
#include "msgpack.hpp"

#include "code_object.hpp"

namespace amdsim {

const MsgpackValue* MsgpackValue::get(const char* key) const {
  for (size_t i = 0; kind == Map && i + 1 < items.size(); i += 2)
    if (items[i].text == key) return &items[i + 1];
  return nullptr;
}
int64_t MsgpackValue::number_at(const char* key, int64_t fallback) const {
  const MsgpackValue* value = get(key);
  return value && value->kind == Int ? value->number : fallback;
}
std::string MsgpackValue::text_at(const char* key) const {
  const MsgpackValue* value = get(key);
  return value ? value->text : "";
}

namespace {

struct Reader {
  const uint8_t *at, *end;

  uint8_t byte() {
    if (at >= end) throw BadCodeObject{"the metadata ends early"};
    return *at++;
  }
  uint64_t big_endian(int bytes) {
    uint64_t value = 0;
    while (bytes--) value = value << 8 | byte();
    return value;
  }
  MsgpackValue number(int64_t value) { return {MsgpackValue::Int, value, {}, {}}; }
  MsgpackValue text(size_t bytes) {
    if (static_cast<size_t>(end - at) < bytes) throw BadCodeObject{"the metadata ends early"};
    MsgpackValue value{MsgpackValue::Str, 0, std::string(at, at + bytes), {}};
    at += bytes;
    return value;
  }
  MsgpackValue list(MsgpackValue::Kind kind, size_t count) {
    MsgpackValue value{kind, 0, {}, {}};
    for (size_t i = 0; i < count; i++) value.items.push_back(any());
    return value;
  }
  MsgpackValue skip(int bytes) { // floats: nothing asks for one
    big_endian(bytes);
    return {};
  }

  MsgpackValue any() {
    const uint8_t tag = byte();
    if (tag < 0x80 || tag >= 0xe0) return number(static_cast<int8_t>(tag));
    if (tag < 0x90) return list(MsgpackValue::Map, 2 * (tag & 15));
    if (tag < 0xa0) return list(MsgpackValue::Array, tag & 15);
    if (tag < 0xc0) return text(tag & 31);
    switch (tag) {
    case 0xc0: return {};
    case 0xc2:
    case 0xc3: return number(tag & 1);
    case 0xc4:
    case 0xd9: return text(big_endian(1));
    case 0xc5:
    case 0xda: return text(big_endian(2));
    case 0xc6:
    case 0xdb: return text(big_endian(4));
    case 0xca: return skip(4);
    case 0xcb: return skip(8);
    case 0xcc:
    case 0xcd:
    case 0xce:
    case 0xcf: return number(big_endian(1 << (tag & 3)));
    case 0xd0: return number(static_cast<int8_t>(big_endian(1)));
    case 0xd1: return number(static_cast<int16_t>(big_endian(2)));
    case 0xd2: return number(static_cast<int32_t>(big_endian(4)));
    case 0xd3: return number(big_endian(8));
    case 0xdc: return list(MsgpackValue::Array, big_endian(2));
    case 0xdd: return list(MsgpackValue::Array, big_endian(4));
    case 0xde: return list(MsgpackValue::Map, 2 * big_endian(2));
    case 0xdf: return list(MsgpackValue::Map, 2 * big_endian(4));
    }
    throw BadCodeObject{"metadata of an unknown kind"};
  }
};

} // namespace

MsgpackValue unpack_msgpack(const uint8_t* data, size_t bytes) { return Reader{data, data + bytes}.any(); }

} // namespace amdsim
