// The header is a Python literal, padded; the file appears under its name only when it is whole.
#include "refimpl/npy.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace mqalab {

namespace {

struct TypeFacts {
  const char* descr;
  int64_t bytes;
};

TypeFacts facts(NpyType type) {
  switch (type) {
  case NpyType::uint8: return {"|u1", 1};
  case NpyType::int32: return {"<i4", 4};
  case NpyType::float32: return {"<f4", 4};
  }
  return {"|u1", 1};
}

// Magic, version 1.0, the length of what follows, a Python literal padded with blanks to a multiple of 64
// bytes.
std::string header(NpyType type, std::span<const int64_t> shape) {
  std::string text = std::string("{'descr': '") + facts(type).descr + "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  text += shape.size() == 1 ? ",), }" : "), }";
  while ((10 + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  const char length[] = {char(text.size() & 0xFF), char(text.size() >> 8)};
  return std::string("\x93NUMPY\x01\x00", 8) + std::string(length, 2) + text;
}

// A file beside the wanted one that takes its name when it is whole, and vanishes when it does not get there.
class NewFile {
public:
  explicit NewFile(const std::string& path)
      : path_(path), temporary_(path + ".tmp" + std::to_string(getpid())) {
    file_ = std::fopen(temporary_.c_str(), "wb");
    if (!file_) fail("cannot create");
  }
  ~NewFile() {
    if (file_) std::fclose(file_);
    if (!done_) std::remove(temporary_.c_str());
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(const void* data, size_t bytes) {
    if (bytes && std::fwrite(data, 1, bytes, file_) != bytes) fail("cannot write");
  }
  void commit() {
    if (std::fflush(file_) != 0 || fsync(fileno(file_)) != 0) fail("cannot write");
    std::FILE* file = file_;
    file_ = nullptr;
    if (std::fclose(file) != 0) fail("cannot write");
    if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail("cannot rename the finished file to");
    done_ = true;
  }

private:
  [[noreturn]] void fail(const char* what) const {
    const std::string reason = std::strerror(errno);
    throw std::runtime_error(std::string(what) + " " + path_ + ": " + reason +
                             "; check that the folder exists, is writable and has room");
  }

  std::string path_, temporary_;
  std::FILE* file_ = nullptr;
  bool done_ = false;
};

} // namespace

void write_npy(const std::string& path, NpyType type, std::span<const int64_t> shape, const void* data) {
  int64_t bytes = facts(type).bytes;
  for (int64_t size : shape) bytes *= size;
  NewFile file(path);
  const std::string head = header(type, shape);
  file.write(head.data(), head.size());
  file.write(data, size_t(bytes));
  file.commit();
}

} // namespace mqalab
