// See publish.hpp.  Odd: the folder is fsynced too; without that a crash may forget the rename.
#include "db/publish.hpp"

#include "db/content_io.hpp"
#include "db/schema.hpp"
#include "db/store.hpp"
#include "kernels/database_digest.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace mqalab {
namespace {

// Removes the temporary file unless it was renamed away.
class Temporary {
public:
  explicit Temporary(const std::string& target)
      : path_(target + ".publishing." + std::to_string(::getpid())) {
    std::remove(path_.c_str());
  }
  ~Temporary() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

private:
  std::string path_;
};

void sync_path(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC);
  const bool done = fd >= 0 && ::fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (!done) throw DatabaseError(path + ": cannot be written to disk: " + std::strerror(error));
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

std::string write_file(const std::string& path, const Content& content) {
  Connection db(path, Access::create);
  db.exec("PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL");
  Transaction transaction(db);
  db.exec(kSchema);
  Statement meta(db, "INSERT OR REPLACE INTO meta VALUES (?, ?)");
  meta.run("schema", "1");
  meta.run("key_version", "1");
  meta.run("created", now_utc());
  meta.run("tool", "mqalab");
  write_content(db, content);
  const std::string digest = mqa::database_digest(db.get());
  meta.run("digest", digest);
  transaction.commit();
  return digest;
}

Content next_generation(Store& store) {
  store.refresh_best("");
  Content content = store.content();
  ++content.generation;
  Statement(store.connection(), "UPDATE meta SET value = ? WHERE name = 'generation'")
      .run(std::to_string(content.generation));
  return content;
}

} // namespace

Publication publish(const std::string& from, const std::string& to) {
  std::error_code ignored;
  if (std::filesystem::equivalent(from, to, ignored))
    throw DatabaseError(
        to + ": is the database itself\n  try:     another name; it stays the one that you tune into");
  // The rename below would replace a device node or a pipe.
  const auto status = std::filesystem::status(to, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    throw DatabaseError(to + ": is no regular file\n  allowed: a file, new or to be replaced");
  Store store = Store::open(from, Access::write);
  const Content content = published(next_generation(store));
  const Temporary temporary(to);
  Publication result{write_file(temporary.path(), content), content.generation,
                     static_cast<int64_t>(content.best.size()),
                     static_cast<int64_t>(content.quarantines.size())};
  sync_path(temporary.path(), O_RDONLY);
  if (std::rename(temporary.path().c_str(), to.c_str()) != 0)
    throw DatabaseError(to + ": cannot be replaced: " + std::strerror(errno));
  sync_path(folder_of(to), O_RDONLY | O_DIRECTORY);
  return result;
}

} // namespace mqalab
