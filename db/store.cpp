// See store.hpp.  Odd: a writer works in WAL mode, where a commit costs one fsync and survives kill -9, and
// goes back to a plain journal when it closes, so that a file at rest is always one file.
#include "db/store.hpp"

#include "db/content_io.hpp"
#include "db/schema.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <random>

namespace mqalab {
namespace {

constexpr int64_t kApplicationId = 0x4d514144, kVersion = 1; // as in schema.sql

bool exists(const std::string& path) {
  struct stat facts;
  return ::stat(path.c_str(), &facts) == 0;
}

// SQLite's locks are not to be trusted on these; magic numbers of statfs(2).
const char* network_file_system(const std::string& path) {
  struct statfs facts;
  const size_t slash = path.rfind('/');
  if (::statfs(slash == std::string::npos ? "." : path.substr(0, slash + 1).c_str(), &facts) != 0)
    return nullptr;
  switch (static_cast<uint32_t>(facts.f_type)) {
  case 0x6969: return "NFS";
  case 0xff534d42: return "CIFS";
  case 0xfe534d42: return "SMB";
  case 0x0bd00bd0: return "Lustre";
  case 0x47504653: return "GPFS";
  case 0x19830326: return "BeeGFS";
  default: return nullptr;
  }
}

std::string holder_of(int fd) {
  char text[64] = "";
  const ssize_t bytes = ::pread(fd, text, sizeof text - 1, 0);
  return bytes > 0 ? std::string(text, static_cast<size_t>(bytes)) : "another process";
}

void refuse_network(const std::string& path) {
  if (const char* kind = network_file_system(path))
    throw DatabaseError(
        path + ": lies on a network file system (" + kind +
        "), where SQLite files get damaged\n  write to local disk, and copy what `mqalab db publish` makes");
}

void build_schema(Connection& db) {
  Transaction transaction(db);
  db.exec(kSchema);
  Statement meta(db, "INSERT INTO meta VALUES (?, ?)");
  meta.run("schema", "1");
  meta.run("key_version", "1");
  meta.run("generation", "0");
  meta.run("created", now_utc());
  meta.run("tool", "mqalab");
  transaction.commit();
}

} // namespace

WriterLock::WriterLock(const std::string& database) {
  const std::string path = database + ".lock";
  fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd_ < 0)
    throw DatabaseError(database + ": cannot be written: " + path + ": " + std::strerror(errno) +
                        "\n  choose a folder that is writable");
  if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    const std::string holder = holder_of(fd_);
    ::close(fd_);
    throw DatabaseError(database + ": is being written by " + holder +
                        "\n  allowed: one writer a file\n  try:     wait for it, or write another file and "
                        "`mqalab db merge`");
  }
  const std::string me = "process " + std::to_string(::getpid());
  if (::ftruncate(fd_, 0) != 0 || ::pwrite(fd_, me.data(), me.size(), 0) < 0)
    return; // the name is a courtesy only
}

WriterLock::~WriterLock() {
  if (fd_ >= 0) ::close(fd_);
}

void check_whole(Connection& db) {
  if (db.scalar("PRAGMA application_id") != kApplicationId)
    throw DatabaseError(db.path() +
                        ": is not a tuning database of mqalab\n  try:     `mqalab db init FILE` makes one");
  const int64_t version = db.scalar("PRAGMA user_version");
  if (version != kVersion)
    throw DatabaseError(db.path() + ": has schema version " + std::to_string(version) +
                        "\n  allowed: " + std::to_string(kVersion) +
                        "\n  try:     the mqalab that wrote it, or `db export` there and `db import` here");
  Statement check(db, "PRAGMA integrity_check(1)");
  if (!check.step() || check.text(0) != "ok" || Statement(db, "PRAGMA foreign_key_check").step())
    throw DatabaseError(
        db.path() + ": is damaged\n  try:     the published copy, or `mqalab db export` what is readable");
}

Store::Store(std::string path, Access access) : path_(std::move(path)) {
  if (access != Access::read) {
    refuse_network(path_);
    lock_ = std::make_unique<WriterLock>(path_);
  }
  const bool is_new = !exists(path_);
  db_ = std::make_unique<Connection>(path_, access);
  if (access != Access::read) db_->exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  if (is_new) build_schema(*db_);
  check_whole(*db_);
}

Store Store::create(const std::string& path) {
  if (exists(path))
    throw DatabaseError(path + ": exists already\n  try:     another name, or use it as it is");
  return Store(path, Access::create);
}

Store Store::open_or_create(const std::string& path) {
  return exists(path) ? open(path, Access::write) : create(path);
}

Store Store::open(const std::string& path, Access access) {
  if (!exists(path)) throw DatabaseError(path + ": no such file\n  try:     `mqalab db init " + path + "`");
  return Store(path, access);
}

Store::~Store() {
  if (db_ && lock_) sqlite3_exec(db_->get(), "PRAGMA journal_mode = DELETE", nullptr, nullptr, nullptr);
}

Content Store::read(const std::string& problem) { return read_content(*db_, problem); }

void Store::replace(const Content& content) {
  Transaction transaction(*db_);
  write_content(*db_, content);
  transaction.commit();
}

void Store::describe(const DeviceId& id, const Device& device) {
  Transaction transaction(*db_);
  device_row(*db_, id, device);
  transaction.commit();
}

void Store::describe(const std::string& kernel_hash, const Build& build) {
  Transaction transaction(*db_);
  build_row(*db_, kernel_hash, build);
  transaction.commit();
}

void Store::describe_problem(const std::string& key, double weight) {
  Transaction transaction(*db_);
  problem_row(*db_, key, weight);
  transaction.commit();
}

void Store::add_trial(const std::string& uuid, const Trial& trial) {
  Transaction transaction(*db_);
  write_trial(*db_, uuid, trial);
  transaction.commit();
}

void Store::certify(const CertificateKey& key, const Certificate& certificate) {
  Transaction transaction(*db_);
  write_certificate(*db_, key, certificate);
  transaction.commit();
}

void Store::quarantine(const QuarantineKey& key, const Quarantine& quarantine) {
  Transaction transaction(*db_);
  write_quarantine(*db_, key, quarantine);
  transaction.commit();
}

void Store::refresh_best(const std::string& problem) {
  Transaction transaction(*db_);
  Content content = read_content(*db_, problem);
  const auto before = content.best;
  recompute_best(content);
  if (problem.empty())
    db_->exec("DELETE FROM best");
  else
    Statement(*db_, "DELETE FROM best WHERE problem_id = (SELECT id FROM problem WHERE key = ?)")
        .run(problem);
  for (const auto& [key, best] : content.best) {
    write_best(*db_, key, best);
    const auto held = before.find(key);
    if (held == before.end() || held->second.config != best.config)
      write_history(*db_, {key.problem, key.device.key, key.kernel_hash, key.policy, now_utc(), best.config,
                           held == before.end() ? "first" : "was " + held->second.config});
  }
  for (const auto& [key, best] : before)
    if (!content.best.contains(key))
      write_history(*db_, {key.problem, key.device.key, key.kernel_hash, key.policy, now_utc(), "",
                           "withdrawn: " + best.config});
  transaction.commit();
}

int64_t Store::begin(const std::string& problem, const std::string& config, const std::string& shard) {
  Transaction transaction(*db_);
  Statement(*db_, R"sql(INSERT INTO journal VALUES (?, ?, ?, 1, ?)
                        ON CONFLICT (problem, config) DO UPDATE SET attempts = attempts + 1, at = excluded.at)sql")
      .run(problem, config, shard, now_utc());
  Statement attempts(*db_, "SELECT attempts FROM journal WHERE problem = ? AND config = ?");
  attempts.bind(problem, config).step();
  const int64_t count = attempts.integer(0);
  attempts.step();
  transaction.commit();
  return count;
}

void Store::end(const std::string& problem, const std::string& config) {
  Transaction transaction(*db_);
  Statement(*db_, "DELETE FROM journal WHERE problem = ? AND config = ?").run(problem, config);
  transaction.commit();
}

std::string now_utc() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string make_uuid() {
  std::random_device entropy;
  uint32_t words[4] = {entropy(), entropy(), entropy(), entropy()};
  words[1] = (words[1] & 0xffff0fff) | 0x4000;
  words[2] = (words[2] & 0x3fffffff) | 0x80000000;
  char text[40];
  std::snprintf(text, sizeof text, "%08x-%04x-%04x-%04x-%04x%08x", words[0], words[1] >> 16,
                words[1] & 0xffff, words[2] >> 16, words[2] & 0xffff, words[3]);
  return text;
}

} // namespace mqalab
