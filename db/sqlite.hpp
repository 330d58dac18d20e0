// SQLite's C API with lifetimes and exceptions.  Every failure is a DatabaseError whose text says which file,
// what SQLite said, and what to do.
#pragma once
#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace mqalab {

struct DatabaseError : std::runtime_error {
  explicit DatabaseError(const std::string& what, bool disk_is_full = false)
      : std::runtime_error(what), out_of_space(disk_is_full) {}
  bool out_of_space;
};

class Connection;

class Statement {
public:
  Statement(Connection&, const char* sql);
  template <class... Values> Statement& bind(const Values&... values) {
    sqlite3_reset(get());
    int index = 0;
    (put(++index, values), ...);
    return *this;
  }
  bool step(); // true: a row is there
  template <class... Values> void run(const Values&... values) {
    bind(values...);
    while (step()) {
    }
  }
  int64_t integer(int column) const { return sqlite3_column_int64(get(), column); }
  double real(int column) const { return sqlite3_column_double(get(), column); }
  std::string text(int column) const;

private:
  sqlite3_stmt* get() const { return statement_.get(); }
  void put(int index, std::string_view value);
  void put(int index, double value) { sqlite3_bind_double(get(), index, value); }
  void put(int index, int64_t value) { sqlite3_bind_int64(get(), index, value); }
  void put(int index, uint64_t value) { put(index, static_cast<int64_t>(value)); }
  void put(int index, int value) { put(index, int64_t{value}); }

  std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)> statement_;
  Connection& connection_;
};

enum class Access { read, write, create };

class Connection {
public:
  Connection(const std::string& path, Access);
  void exec(const char* sql);
  Statement prepare(const char* sql) { return Statement(*this, sql); }
  int64_t scalar(const char* sql);
  const std::string& path() const { return path_; }
  sqlite3* get() const { return db_.get(); }
  [[noreturn]] void fail() const;

private:
  std::string path_;
  std::unique_ptr<sqlite3, decltype(&sqlite3_close)> db_;
};

// Rolls back unless committed.
class Transaction {
public:
  explicit Transaction(Connection& db) : db_(db) { db_.exec("BEGIN IMMEDIATE"); }
  Transaction(const Transaction&) = delete;
  ~Transaction();
  void commit();

private:
  Connection& db_;
  bool open_ = true;
};

} // namespace mqalab
