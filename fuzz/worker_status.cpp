#include "fuzz/worker_status.hpp"
#include "fuzz/disk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace mqalab {

uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

// Allocated, not only sized: a write into a hole of a full disk would be a SIGBUS.
StatusFile::StatusFile(const std::filesystem::path& path, bool create) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | (create ? O_CREAT | O_TRUNC : 0), 0644);
  const int error = fd < 0 ? errno : ::posix_fallocate(fd, 0, sizeof(WorkerStatus));
  void* memory =
      error ? MAP_FAILED : ::mmap(nullptr, sizeof(WorkerStatus), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (fd >= 0) ::close(fd);
  if (memory == MAP_FAILED)
    throw DiskError(fmt::format("{}: cannot be used: {}; make room or choose another --out", path.string(),
                                std::strerror(error ? error : errno)));
  status_ = static_cast<WorkerStatus*>(memory);
}

StatusFile::~StatusFile() {
  if (status_) ::munmap(status_, sizeof(WorkerStatus));
}

StatusFile::StatusFile(StatusFile&& other) noexcept : status_(std::exchange(other.status_, nullptr)) {}

std::optional<std::vector<uint8_t>> StatusFile::in_flight() const {
  const size_t bytes = std::min<size_t>(status_->in_flight_bytes.load(), kMostRecord_bytes);
  if (bytes == 0) return std::nullopt;
  return std::vector<uint8_t>(status_->in_flight, status_->in_flight + bytes);
}

} // namespace mqalab
