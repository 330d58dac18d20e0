// The digest of a published database: one function for who writes it (mqalab db publish) and who checks it
// (the library). It covers every cell that the library reads, because SQLite itself has no checksums: a
// flipped bit inside a row passes its integrity check.  Header-only, so that the lab's store needs nothing of
// the library.
#pragma once
#include <sqlite3.h>

#include <cstdint>
#include <cstdio>
#include <string>

namespace mqa {

// FNV-1a over type and text of every column of every row, tables and rows in a fixed order; "" when SQLite
// fails.
inline std::string database_digest(sqlite3* db) {
  static constexpr const char* kQueries[] = {
      "SELECT name, value FROM meta WHERE name <> 'digest' ORDER BY name",
      "SELECT * FROM device ORDER BY id",
      "SELECT * FROM build ORDER BY id",
      "SELECT * FROM problem ORDER BY id",
      "SELECT * FROM config ORDER BY id",
      "SELECT * FROM best ORDER BY id",
      "SELECT * FROM certificate ORDER BY problem_id, config_id, device_id, build_id",
      "SELECT * FROM quarantine ORDER BY config, problem, device, kernel_hash, kind",
  };
  uint64_t hash = 0xcbf29ce484222325u;
  const auto mix = [&hash](const void* data, int bytes) {
    for (int i = 0; i < bytes; ++i)
      hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001b3u;
  };
  for (const char* query : kQueries) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(db, query, -1, &statement, nullptr) != SQLITE_OK) return "";
    int state;
    while ((state = sqlite3_step(statement)) == SQLITE_ROW)
      for (int column = 0; column < sqlite3_column_count(statement); ++column) {
        const int type = sqlite3_column_type(statement, column);
        const unsigned char* text = sqlite3_column_text(statement, column);
        mix(&type, sizeof type);
        mix(text, text ? sqlite3_column_bytes(statement, column) : 0);
      }
    mix("|", 1);
    sqlite3_finalize(statement);
    if (state != SQLITE_DONE) return "";
  }
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

} // namespace mqa
