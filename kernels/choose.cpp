// Loading by the environment or by call, and the choice itself.  Odd: the reason in a choice is a sentence,
// so it is written at load time and only copied at launch.
#include "kernels/choose.hpp"

#include "kernels/serving_table.hpp"
#include "kernels/snapshot.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <sstream>
#include <string_view>

namespace mqa {
namespace {

enum class Mode : int { off, use, strict };

struct Loaded {
  ServingTable table;
  std::string digest;
};

// Leaked on purpose: launches may still run in other threads when static objects are destroyed.
Snapshot<Loaded>& loaded() {
  static auto* const snapshot = new Snapshot<Loaded>;
  return *snapshot;
}

std::atomic<bool> settled{false}; // somebody loaded or unloaded: the environment has had its turn
std::mutex loading;

Mode mode_of_environment() {
  const char* text = std::getenv("MQALAB_DB_MODE");
  const std::string_view mode = text ? text : "";
  if (mode == "off") return Mode::off;
  if (mode == "strict") return Mode::strict;
  if (!mode.empty() && mode != "use")
    warn_once("MQALAB_DB_MODE is '" + std::string(mode) + "'; allowed: off, use, strict; taken as use");
  return Mode::use;
}

// Read once: the mode is a property of the process.
Mode mode() {
  static const Mode value = mode_of_environment();
  return value;
}

std::vector<std::string> split_paths(const char* paths) {
  std::vector<std::string> parts;
  std::stringstream stream(paths ? paths : "");
  for (std::string part; std::getline(stream, part, ':');)
    if (!part.empty()) parts.push_back(part);
  return parts;
}

void append(std::string& line, const std::string& more) {
  line += (line.empty() || more.empty() ? "" : "; ") + more;
}

std::vector<DatabaseFile> read_all(const std::vector<std::string>& paths, std::string& message) {
  std::vector<DatabaseFile> files;
  for (const std::string& path : paths) {
    std::string why;
    auto file = read_database(path, &why);
    append(message, why);
    if (!file) continue;
    if (file->rejected > 0)
      append(message, "database " + path + ": " + std::to_string(file->rejected) + " rows are unusable (" +
                          file->first_rejection + ")");
    files.push_back(std::move(*file));
  }
  return files;
}

// The caller holds `loading`.
mqa_status load(const char* paths, std::string& message) {
  if (mode() == Mode::off) return message = "MQALAB_DB_MODE=off: no database is loaded", MQA_OK;
  const auto wanted = split_paths(paths ? paths : std::getenv("MQALAB_DB"));
  if (wanted.empty())
    return message = "no database is named: give a path, or set MQALAB_DB", MQA_BAD_DATABASE;
  const auto files = read_all(wanted, message);
  if (!message.empty()) warn_once(message);
  if (files.empty()) return MQA_BAD_DATABASE;
  std::string digests;
  for (const DatabaseFile& file : files)
    if (!file.digest.empty()) digests += (digests.empty() ? "" : ",") + file.digest;
  loaded().publish(std::make_unique<const Loaded>(Loaded{ServingTable(files, mqa_kernel_hash()), digests}));
  return MQA_OK;
}

mqa_choice choice_of(const Answer& answer) noexcept {
  mqa_choice choice{sizeof(mqa_choice), answer.config, answer.source, answer.row_id, {}};
  std::memcpy(choice.reason, answer.reason, sizeof choice.reason);
  return choice;
}

Answer default_because(const char* reason) noexcept {
  Answer answer;
  std::snprintf(answer.reason, sizeof answer.reason, "%s", reason);
  return answer;
}

void log_choice(const ProblemKey& problem, const mqa_choice& c) noexcept try {
  std::fprintf(stderr,
               "libmqa: %s: %s: variant=%d chunk_k=%d split_kv=%d wave_per_eu=%d (0 = automatic): %s\n",
               to_string(problem).c_str(), mqa_source_name(c.source), c.config.variant, c.config.chunk_k,
               c.config.split_kv, c.config.wave_per_eu, c.reason);
} catch (...) {
}

} // namespace

int log_level() noexcept {
  static const int level = [] {
    const char* text = std::getenv("MQALAB_LOG");
    return text ? std::atoi(text) : 1;
  }();
  return level;
}

void warn_once(const std::string& message) noexcept try {
  static std::mutex guard;
  static std::set<std::string> said;
  const std::lock_guard lock(guard);
  if (log_level() >= 1 && said.insert(message).second)
    std::fprintf(stderr, "libmqa: warning: %s\n", message.c_str());
} catch (...) {
}

mqa_choice choose(const ProblemKey& problem, const DeviceFacts& device) noexcept {
  static const Answer nothing_loaded = default_because("no database is loaded; built-in default");
  static const Answer no_row =
      default_because("the database has no row for this problem's bucket; built-in default");
  static const Answer switched_off = default_because("MQALAB_DB_MODE=off; built-in default");
  const mqa_choice choice = loaded().read([&](const Loaded* now) noexcept {
    if (!now) return choice_of(mode() == Mode::off ? switched_off : nothing_loaded);
    const Answer* answer = now->table.find(problem, device.key, device.simulated);
    return choice_of(answer ? *answer : no_row);
  });
  if (log_level() >= 2) log_choice(problem, choice);
  return choice;
}

mqa_status load_database(const char* paths, std::string* message) noexcept try {
  const std::lock_guard lock(loading);
  std::string line;
  const mqa_status status = load(paths, line);
  settled = true;
  if (message) *message = line;
  return status;
} catch (...) {
  return MQA_BAD_DATABASE; // out of memory: what was loaded before stays
}

void unload_database() noexcept try {
  const std::lock_guard lock(loading);
  settled = true;
  loaded().publish(nullptr);
} catch (...) {
}

void load_from_environment_once() noexcept try {
  if (settled.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(
      loading); // the first launches of other threads wait: every launch sees the same table
  if (settled) return;
  const char* paths = std::getenv("MQALAB_DB");
  std::string message;
  if (paths && *paths) load(paths, message);
  settled = true;
} catch (...) {
}

bool strict_mode() noexcept { return mode() == Mode::strict; }

std::string loaded_digest() {
  std::string digest;
  loaded().read([&](const Loaded* now) {
    if (now) digest = now->digest;
  });
  return digest;
}

} // namespace mqa
