// A tuning database file being authored: created, opened by its one writer or by readers, and filled step by
// step, each step committed at once.
#pragma once
#include "db/content.hpp"
#include "db/sqlite.hpp"

#include <memory>
#include <string>

namespace mqalab {

// Held by the one writer of a file, as an flock of FILE.lock; the kernel releases it when the process dies.
class WriterLock {
public:
  explicit WriterLock(const std::string& database); // throws DatabaseError naming the holder
  WriterLock(WriterLock&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  ~WriterLock();

private:
  int fd_ = -1;
};

class Store {
public:
  static Store create(const std::string& path); // throws when something is there
  static Store open_or_create(const std::string& path);
  static Store open(const std::string& path, Access);
  ~Store();
  Store(Store&&) = default;

  Connection& connection() { return *db_; }
  const std::string& path() const { return path_; }
  Content content(const std::string& problem = "") { return read(problem); }
  void replace(const Content&); // in one transaction

  // What the following steps refer to.
  void describe(const DeviceId&, const Device&);
  void describe(const std::string& kernel_hash, const Build&);
  void describe_problem(const std::string& key, double weight);

  // Each is one transaction, on disk when it returns.
  void add_trial(const std::string& uuid, const Trial&); // also adds samples to a trial that is there
  void certify(const CertificateKey&, const Certificate&);
  void quarantine(const QuarantineKey&, const Quarantine&);
  void refresh_best(const std::string& problem); // recomputes `best`, notes changes in history

  // The journal: begin before a trial starts, end when its outcome is committed.
  int64_t begin(const std::string& problem, const std::string& config,
                const std::string& shard); // attempts so far
  void end(const std::string& problem, const std::string& config);

private:
  Store(std::string path, Access access);
  Content read(const std::string& problem);

  std::string path_;
  std::unique_ptr<WriterLock> lock_; // released after the connection closes
  std::unique_ptr<Connection> db_;
};

// Throws DatabaseError unless the file is ours, of this schema, and whole.
void check_whole(Connection&);

std::string now_utc();   // 2026-01-31T23:59:59Z
std::string make_uuid(); // random, version 4

} // namespace mqalab
