#include "fuzz/disk.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace mqalab {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& path, int error) {
  throw DiskError(
      fmt::format("{}: cannot be written: {}; everything found so far is kept; make room, then run the same "
                  "command again to go on",
                  path.string(), std::strerror(error)));
}

void write_all(int fd, const std::filesystem::path& path, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) refuse(path, count < 0 ? errno : ENOSPC);
    text.remove_prefix(static_cast<size_t>(count));
  }
}

} // namespace

void write_whole(const std::filesystem::path& path, std::string_view text) {
  // The rename below would replace a device node or a pipe: /dev/null, say.
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) refuse(path, EEXIST);
  const std::filesystem::path part = path.string() + ".part";
  const int fd = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) refuse(part, errno);
  try {
    write_all(fd, part, text);
    if (::fsync(fd) != 0) refuse(part, errno);
  } catch (...) {
    ::close(fd);
    ::unlink(part.c_str());
    throw;
  }
  if (::close(fd) != 0 || ::rename(part.c_str(), path.c_str()) != 0) refuse(path, errno);
}

std::string read_whole(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Journal::Journal(const std::filesystem::path& path)
    : path_(path), fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
  if (fd_ < 0) refuse(path_, errno);
}

Journal::~Journal() { ::close(fd_); }

void Journal::append(std::string_view line) {
  write_all(fd_, path_, std::string(line) + "\n");
  if (::fsync(fd_) != 0) refuse(path_, errno);
}

DiskReserve::DiskReserve(const std::filesystem::path& folder, int64_t bytes) : path_(folder / "reserve") {
  const int fd = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) refuse(path_, errno);
  const int error = ::posix_fallocate(fd, 0, bytes);
  ::close(fd);
  if (error != 0) {
    release();
    refuse(path_, error);
  }
}

void DiskReserve::release() { ::unlink(path_.c_str()); }

int64_t free_bytes(const std::filesystem::path& folder) {
  std::error_code error;
  const auto space = std::filesystem::space(folder, error);
  return error ? 0 : static_cast<int64_t>(space.available);
}

} // namespace mqalab
