#include "fuzz/bisect_state.hpp"
#include "fuzz/commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <sstream>
#include <sys/file.h>
#include <unistd.h>

namespace mqalab {
namespace {

using Json = nlohmann::json;
using Saw = Observation::Saw;

// In the order of Saw.
constexpr std::array<std::string_view, 4> kSaw{"pass", "failure", "nothing", "no subject"};

constexpr std::string_view kFormat = "mqalab bisect 1", kHead = R"({"format":"mqalab bisect 1",)";

std::string line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json packed(const std::string& subject, const Observation& run) {
  Json json{{"subject", subject},
            {"saw", kSaw[static_cast<size_t>(run.saw)]},
            {"text", run.text},
            {"library", run.library}};
  if (run.saw == Saw::failure)
    json["signature"] = {{"verdict", name(run.signature.verdict)},
                         {"pattern", run.signature.pattern},
                         {"region", run.signature.region},
                         {"configuration", run.signature.configuration}};
  return json;
}

Saw saw_named(const std::string& word) {
  const auto it = std::ranges::find(kSaw, word);
  if (it == kSaw.end()) throw UsageError(fmt::format("\"{}\" is nothing that a run sees", word));
  return static_cast<Saw>(it - kSaw.begin());
}

VerdictClass verdict_named(const std::string& word) {
  for (size_t i = 0; i < kVerdictClasses; ++i)
    if (name(static_cast<VerdictClass>(i)) == word) return static_cast<VerdictClass>(i);
  throw UsageError(fmt::format("\"{}\" is no verdict", word));
}

Observation unpacked(const Json& json) {
  Observation run{saw_named(json.at("saw")), {}, json.at("text"), json.at("library")};
  if (const auto s = json.find("signature"); s != json.end())
    run.signature = {verdict_named(s->at("verdict")), s->at("pattern"), s->at("region"),
                     s->at("configuration")};
  return run;
}

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& what) {
  throw UsageError(fmt::format("--state {}: {}; allowed: the file of the same question, or a new one; try: "
                               "--state {}.new",
                               path.string(), what, path.string()));
}

void require_same(const std::filesystem::path& path, const Json& was, const Json& is) {
  for (const auto& [key, value] : is.items())
    if (const Json known = was.value(key, Json()); known != value)
      refuse(path, fmt::format("holds the answers to another question: {} was {}, is {}", key, line(known),
                               line(value)));
}

// A line that a kill cut short counts for nothing.
std::string whole_lines(const std::filesystem::path& path, const std::string& text) {
  const size_t end = text.rfind('\n'), size = end == std::string::npos ? 0 : end + 1;
  if (size != text.size()) std::filesystem::resize_file(path, size);
  return text.substr(0, size);
}

} // namespace

BisectState::BisectState(const std::filesystem::path& path, const Json& question) : path_(path) {
  if (path_.empty()) return;
  lock();
  try {
    load(question);
    journal_ = std::make_unique<Journal>(path_);
    if (read_whole(path_).empty()) journal_->append(line({{"format", kFormat}, {"question", question}}));
  } catch (...) {
    ::close(lock_);
    throw;
  }
}

BisectState::~BisectState() {
  if (lock_ >= 0) ::close(lock_);
}

void BisectState::lock() {
  lock_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock_ >= 0 && ::flock(lock_, LOCK_EX | LOCK_NB) == 0) return;
  const bool opened = lock_ >= 0;
  if (opened) ::close(lock_);
  refuse(path_, opened ? "another bisection uses it" : "cannot be opened for writing");
}

void BisectState::load(const Json& question) {
  // Whose file it is comes first; one of somebody else is not cut.
  const std::string_view head = kHead;
  const std::string text = read_whole(path_);
  if (!text.starts_with(head) && !head.starts_with(text)) refuse(path_, "is not the state of a bisection");
  std::istringstream lines(whole_lines(path_, text));
  std::string first;
  if (!std::getline(lines, first)) return;
  try {
    require_same(path_, Json::parse(first).at("question"), question);
    for (std::string next; std::getline(lines, next); ++resumed_) {
      const Json json = Json::parse(next);
      runs_[json.at("subject")].push_back(unpacked(json));
    }
  } catch (const Json::exception& e) {
    refuse(path_, fmt::format("is damaged: {}", e.what()));
  }
}

void BisectState::record(const std::string& subject, const Observation& run) {
  runs_[subject].push_back(run);
  if (journal_) journal_->append(line(packed(subject, run)));
}

std::string digest_of(const std::filesystem::path& path) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : read_whole(path)) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  return fmt::format("{:016x}", hash);
}

} // namespace mqalab
