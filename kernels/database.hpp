// Reads one tuning database into memory.  It trusts nothing: a file may be missing, foreign, truncated
// anywhere, or full of other builds' rows, and the worst that may come of it is one sentence and the built-in
// defaults.
#pragma once
#include "kernels/problem_key.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mqa {

inline constexpr uint32_t kDatabaseApplicationId = 0x4d514144; // "MQAD", as in db/schema.sql
inline constexpr uint32_t kDatabaseVersion = 1;

// A row of `best`, joined with what it refers to.
struct TunedRow {
  int64_t id = 0;
  ProblemKey problem{};
  std::string problem_text, config_text, device, kernel_hash;
  mqa_config config{};
  bool simulated = false; // the device, and with it the cost: modelled, not measured
  bool certified = false;
  double ratio = 1; // its time / the default's
};

// Empty problem, device or kernel_hash: every one.
struct QuarantineRow {
  std::string config, problem, device, kernel_hash, kind;
  bool covers(const TunedRow&) const;
};

struct DatabaseFile {
  std::string path, digest; // digest: "" for a file that was not published
  int64_t generation = 0;
  std::vector<TunedRow> rows;
  std::vector<QuarantineRow> quarantines;
  int64_t rejected = 0;        // rows of no use to this library
  std::string first_rejection; // why, for the first of them
};

// Nothing, and one line that says what is wrong and what to do about it.  Never throws but std::bad_alloc.
std::optional<DatabaseFile> read_database(const std::string& path, std::string* why);

} // namespace mqa
