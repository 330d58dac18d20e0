// The database reader.  Order: look at the path, look at the 100 bytes of SQLite's header by hand (most
// damage shows there, and gets a better message than SQLite's), only then open it, read-only and immutable,
// and check it whole.
#include "kernels/database.hpp"

#include "kernels/database_digest.hpp"

#include <sqlite3.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>

namespace mqa {
namespace {

using Connection = std::unique_ptr<sqlite3, decltype(&sqlite3_close)>;
using Statement = std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)>;

uint32_t big_endian(const unsigned char* bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

bool not_empty(const std::string& path) {
  struct stat facts;
  return ::stat(path.c_str(), &facts) == 0 && facts.st_size > 0;
}

// Offsets of https://www.sqlite.org/fileformat.html, section 1.3.
std::string why_bad_header(const unsigned char* header, int64_t file_bytes) {
  if (std::memcmp(header, "SQLite format 3", 16) != 0)
    return "is not an SQLite database; give a file that `mqalab db publish` wrote";
  if (big_endian(header + 68) != kDatabaseApplicationId)
    return "is an SQLite database of another program (application_id is not MQAD); give a file that `mqalab "
           "db publish` wrote";
  if (big_endian(header + 60) != kDatabaseVersion)
    return "has schema version " + std::to_string(big_endian(header + 60)) + ", this library reads " +
           std::to_string(kDatabaseVersion) + "; publish it again with the mqalab of this library";
  if (header[18] != 1 || header[19] != 1)
    return "is in WAL mode, part of it may be in another file; run `mqalab db publish` and give what that "
           "wrote";
  const int64_t page_bytes = header[16] << 8 | header[17] << 16;
  if (page_bytes * big_endian(header + 28) > file_bytes) return "is truncated; publish it again";
  return "";
}

std::string why_bad_file(const std::string& path) {
  struct stat facts;
  if (::stat(path.c_str(), &facts) != 0) return std::string("cannot be read: ") + std::strerror(errno);
  if (!S_ISREG(facts.st_mode))
    return S_ISDIR(facts.st_mode) ? "is a directory; give a database file" : "is not a regular file";
  const std::unique_ptr<FILE, decltype(&std::fclose)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) return std::string("cannot be read: ") + std::strerror(errno);
  unsigned char header[100];
  if (std::fread(header, 1, sizeof header, file.get()) != sizeof header)
    return facts.st_size == 0 ? "is empty; publish it again"
                              : "is truncated or not a database; publish it again";
  if (const std::string why = why_bad_header(header, facts.st_size); !why.empty()) return why;
  if (not_empty(path + "-wal") || not_empty(path + "-journal"))
    return "has an unfinished transaction beside it; run `mqalab db publish` and give what that wrote";
  return "";
}

// Percent-encoded, because in an SQLite URI '?' and '#' end the path.
std::string immutable_uri(const std::string& path) {
  std::string uri = "file:";
  for (const unsigned char c : path) {
    char escaped[4];
    std::snprintf(escaped, sizeof escaped, "%%%02x", c);
    uri += c == '/' || std::isalnum(c) ? std::string(1, static_cast<char>(c)) : escaped;
  }
  return uri + "?mode=ro&immutable=1";
}

Connection open_immutable(const std::string& path) {
  sqlite3* db = nullptr;
  const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
  const int state = sqlite3_open_v2(immutable_uri(path).c_str(), &db, flags, nullptr);
  Connection connection(db, &sqlite3_close);
  if (state != SQLITE_OK) return Connection(nullptr, &sqlite3_close);
  sqlite3_exec(db, "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON", nullptr, nullptr, nullptr);
  return connection;
}

std::string text(sqlite3_stmt* row, int column) {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(row, column));
  return bytes ? std::string(bytes, static_cast<size_t>(sqlite3_column_bytes(row, column))) : std::string();
}

// Calls `visit` for each row; false when SQLite could not read them all.
bool for_each(sqlite3* db, const char* query, const std::function<void(sqlite3_stmt*)>& visit) {
  sqlite3_stmt* prepared = nullptr;
  if (sqlite3_prepare_v2(db, query, -1, &prepared, nullptr) != SQLITE_OK) return false;
  const Statement statement(prepared, &sqlite3_finalize);
  int state;
  while ((state = sqlite3_step(prepared)) == SQLITE_ROW) visit(prepared);
  return state == SQLITE_DONE;
}

bool is_whole(sqlite3* db) {
  std::string verdict;
  int64_t dangling = 0;
  const bool read =
      for_each(db, "PRAGMA integrity_check(1)", [&](sqlite3_stmt* row) { verdict = text(row, 0); }) &&
      for_each(db, "PRAGMA foreign_key_check", [&](sqlite3_stmt*) { ++dangling; });
  return read && verdict == "ok" && dangling == 0;
}

constexpr const char* kBestRows = R"sql(
  SELECT b.id, p.key, c.text, d.key, u.kernel_hash, c.variant, c.chunk_k, c.split_kv, c.wave_per_eu, d.simulated,
         b.origin = 'modelled', b.ratio,
         EXISTS (SELECT 1 FROM certificate x WHERE x.problem_id = b.problem_id AND x.config_id = b.config_id
                 AND x.device_id = b.device_id AND x.build_id = b.build_id)
  FROM best b JOIN problem p ON p.id = b.problem_id JOIN config c ON c.id = b.config_id
              JOIN device d ON d.id = b.device_id JOIN build u ON u.id = b.build_id
  ORDER BY b.policy, b.id)sql";

int32_t variant_named(const std::string& name) {
  for (const int32_t variant : {MQA_VARIANT_STAGED, MQA_VARIANT_DIRECT, MQA_VARIANT_WGMMA})
    if (name == mqa_variant_name(variant)) return variant;
  return MQA_VARIANT_AUTO;
}

std::string canonical(const std::string& variant, int64_t chunk_k, int64_t split_kv, int64_t wave_per_eu) {
  return "variant=" + variant + ",chunk_k=" + std::to_string(chunk_k) +
         ",split_kv=" + std::to_string(split_kv) + ",wave_per_eu=" + std::to_string(wave_per_eu);
}

// Fills `row`; otherwise the reason why this library cannot use it.
std::string parse_row(sqlite3_stmt* s, TunedRow& row) {
  row.id = sqlite3_column_int64(s, 0);
  row.problem_text = text(s, 1), row.config_text = text(s, 2), row.device = text(s, 3),
  row.kernel_hash = text(s, 4);
  const std::string variant = text(s, 5);
  const int64_t chunk_k = sqlite3_column_int64(s, 6), split_kv = sqlite3_column_int64(s, 7);
  const int64_t wave_per_eu = sqlite3_column_int64(s, 8);
  row.simulated = sqlite3_column_int(s, 9) != 0;
  row.ratio = sqlite3_column_double(s, 11);
  row.certified = sqlite3_column_int(s, 12) != 0;
  const auto key = parse_problem_key(row.problem_text);
  if (!key) return "unknown problem key '" + row.problem_text + "'";
  if (variant_named(variant) == MQA_VARIANT_AUTO) return "unknown variant '" + variant + "'";
  if (chunk_k < 64 || chunk_k > 4096 || chunk_k % 64 != 0) return "chunk_k is " + std::to_string(chunk_k);
  if (split_kv < 0 || split_kv > 65535) return "split_kv is " + std::to_string(split_kv);
  const bool wgmma = variant_named(variant) == MQA_VARIANT_WGMMA;
  if (wave_per_eu < 1 || wave_per_eu > 4 || (wave_per_eu == 3 && !wgmma))
    return "wave_per_eu is " + std::to_string(wave_per_eu);
  if (canonical(variant, chunk_k, split_kv, wave_per_eu) != row.config_text)
    return "columns and text of its configuration differ";
  if (row.simulated != (sqlite3_column_int(s, 10) != 0))
    return "a modelled cost on hardware, or a measured one in a simulator";
  if (!(row.ratio > 0)) return "its ratio to the default is not a positive number";
  if (!row.certified) return "it has no certificate";
  row.problem = *key;
  row.config = {variant_named(variant), static_cast<int32_t>(chunk_k), static_cast<int32_t>(split_kv),
                static_cast<int32_t>(wave_per_eu)};
  return "";
}

bool read_rows(sqlite3* db, DatabaseFile& file) {
  const bool rows = for_each(db, kBestRows, [&](sqlite3_stmt* s) {
    TunedRow row;
    const std::string why = parse_row(s, row);
    if (why.empty()) return file.rows.push_back(std::move(row));
    if (file.rejected++ == 0) file.first_rejection = "row " + std::to_string(row.id) + ": " + why;
  });
  return rows &&
         for_each(db, "SELECT config, problem, device, kernel_hash, kind FROM quarantine",
                  [&](sqlite3_stmt* s) {
                    file.quarantines.push_back({text(s, 0), text(s, 1), text(s, 2), text(s, 3), text(s, 4)});
                  });
}

bool read_meta(sqlite3* db, DatabaseFile& file) {
  return for_each(db, "SELECT name, value FROM meta", [&](sqlite3_stmt* s) {
    if (text(s, 0) == "generation") file.generation = std::atoll(text(s, 1).c_str());
    if (text(s, 0) == "digest") file.digest = text(s, 1);
  });
}

} // namespace

bool QuarantineRow::covers(const TunedRow& row) const {
  const auto matches = [](const std::string& pattern, const std::string& value) {
    return pattern.empty() || pattern == value;
  };
  return config == row.config_text && matches(problem, row.problem_text) && matches(device, row.device) &&
         matches(kernel_hash, row.kernel_hash);
}

std::optional<DatabaseFile> read_database(const std::string& path, std::string* why) {
  const auto refuse = [&](const std::string& reason) {
    *why = "database " + path + " " + reason;
    return std::nullopt;
  };
  if (const std::string reason = why_bad_file(path); !reason.empty()) return refuse(reason);
  const Connection connection = open_immutable(path);
  sqlite3* db = connection.get();
  DatabaseFile file;
  file.path = path;
  if (!db || !is_whole(db) || !read_meta(db, file) || !read_rows(db, file))
    return refuse("is damaged; publish it again");
  if (!file.digest.empty() && database_digest(db) != file.digest)
    return refuse("is damaged: its content is not what its digest says; publish it again");
  return file;
}

} // namespace mqa
