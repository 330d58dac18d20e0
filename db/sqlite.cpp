// See sqlite.hpp.  Odd: a full disk and a locked file get advice of their own, because those two happen to
// users.
#include "db/sqlite.hpp"

namespace mqalab {
namespace {

std::string advice(int code) {
  switch (code & 0xff) {
  case SQLITE_FULL: return "; free some space and run the same command again, what was committed is kept";
  case SQLITE_BUSY:
  case SQLITE_LOCKED: return "; another process writes it: wait for that, or write another file and merge";
  case SQLITE_READONLY: return "; it is not writable: choose another place";
  case SQLITE_CANTOPEN: return "; check that the file and its folder exist and are accessible";
  case SQLITE_CORRUPT:
    return "; it is damaged: `mqalab db export` what is readable, or take the published copy";
  case SQLITE_NOTADB:
    return "; it is not an SQLite database: check the path, or make one with `mqalab db init`";
  default: return "";
  }
}

} // namespace

Statement::Statement(Connection& connection, const char* sql)
    : statement_(nullptr, &sqlite3_finalize), connection_(connection) {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(connection.get(), sql, -1, &raw, nullptr) != SQLITE_OK) connection.fail();
  statement_.reset(raw);
}

bool Statement::step() {
  const int state = sqlite3_step(get());
  if (state != SQLITE_ROW && state != SQLITE_DONE) connection_.fail();
  if (state == SQLITE_DONE) sqlite3_reset(get());
  return state == SQLITE_ROW;
}

std::string Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(get(), column));
  return bytes ? std::string(bytes, static_cast<size_t>(sqlite3_column_bytes(get(), column))) : std::string();
}

void Statement::put(int index, std::string_view value) {
  sqlite3_bind_text(get(), index, value.data() ? value.data() : "", static_cast<int>(value.size()),
                    SQLITE_TRANSIENT);
}

Connection::Connection(const std::string& path, Access access) : path_(path), db_(nullptr, &sqlite3_close) {
  int flags = SQLITE_OPEN_NOMUTEX;
  flags |= access == Access::read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  if (access == Access::create) flags |= SQLITE_OPEN_CREATE;
  sqlite3* raw = nullptr;
  const int state = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  db_.reset(raw);
  if (state != SQLITE_OK) fail();
  sqlite3_busy_timeout(raw, 5000);
  exec("PRAGMA trusted_schema = OFF; PRAGMA foreign_keys = ON; PRAGMA cell_size_check = ON");
}

void Connection::exec(const char* sql) {
  if (sqlite3_exec(get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail();
}

int64_t Connection::scalar(const char* sql) {
  Statement statement(*this, sql);
  return statement.step() ? statement.integer(0) : 0;
}

void Connection::fail() const {
  const int code = get() ? sqlite3_extended_errcode(get()) : SQLITE_NOMEM;
  throw DatabaseError(path_ + ": " + (get() ? sqlite3_errmsg(get()) : "out of memory") + advice(code),
                      (code & 0xff) == SQLITE_FULL);
}

Transaction::~Transaction() {
  if (open_) sqlite3_exec(db_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
  db_.exec("COMMIT");
  open_ = false;
}

} // namespace mqalab
