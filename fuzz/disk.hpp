// Files of a campaign that must survive a crash and a full disk: whole files by rename, journals by append.
#pragma once
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

namespace mqalab {

// The disk said no.  The message names the file, the reason and what to do; the campaign stops with exit
// code 20.
struct DiskError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Writes beside the file, syncs, renames: a reader sees the old text or the new one, never a part.
void write_whole(const std::filesystem::path&, std::string_view text);
std::string read_whole(const std::filesystem::path&); // "" when there is no such file

// One line per event, each on disk before append() returns.
class Journal {
public:
  explicit Journal(const std::filesystem::path&);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  void append(std::string_view line); // without its line end

private:
  std::filesystem::path path_;
  int fd_;
};

// Space set aside at the start and given back on the first sign of a full disk, so that the last findings
// still fit.
class DiskReserve {
public:
  explicit DiskReserve(const std::filesystem::path& folder, int64_t bytes = 256 << 10);
  ~DiskReserve() { release(); }
  void release();

private:
  std::filesystem::path path_;
};

int64_t free_bytes(const std::filesystem::path& folder);

} // namespace mqalab
