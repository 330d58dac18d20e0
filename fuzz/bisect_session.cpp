#include "fuzz/bisect_session.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace mqalab {

namespace fs = std::filesystem;
using Json = nlohmann::json;

Scratch::Scratch() {
  std::string pattern = (fs::temp_directory_path() / "mqalab-bisect-XXXXXX").string();
  if (!::mkdtemp(pattern.data()))
    throw MachineTrouble(fmt::format("no folder {}: set TMPDIR to one that can be written", pattern));
  path = pattern;
}

Scratch::~Scratch() {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

Session::Session(const BisectOptions& o)
    : options(o), start(legal_case(o.path, "")), children(scratch.path, o.log),
      case_path((scratch.path / "case.json").string()) {
  write_whole(case_path, to_json(start));
  if (::isatty(STDERR_FILENO) != 1) return; // a log takes the answers only
  children.waiting = [this](double seconds) {
    progress.show(fmt::format("{}: {}", current_, span_text(seconds)));
  };
}

void Session::ask_for(Json question) {
  question["case"] = Json::parse(to_json(start, -1));
  question["mqalab"] = digest_of(this_program()); // another build has another oracle
  question["timeout"] = options.timeout;
  state = std::make_unique<BisectState>(options.state, question);
  if (state->resumed()) progress.keep(fmt::format("{}: {} runs are known", options.state, state->resumed()));
}

Interview Session::interview(Interview::Prepare prepare) {
  const auto noted = [this, prepare = std::move(prepare)](const Subject& s) {
    current_ = s.title;
    if (!options.log.empty()) Journal(options.log).append("== " + s.title);
    return prepare(s);
  };
  return Interview(*state, children, noted, {options.repeat, options.any_failure, options.timeout});
}

void Session::say(const Subject& s, Answer answer, const std::string& why, const std::string& left) {
  progress.keep(fmt::format("{}: {}: {}{}", name(answer), s.title, why, left));
}

void Session::print(const Json& json, const std::string& text) {
  progress.done();
  fmt::print("{}", options.json ? json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n" : text);
}

std::string library_path(const std::string& lib, const std::string& option) {
  if (fs::is_regular_file(lib)) return fs::absolute(lib).lexically_normal().string();
  throw UsageError(fmt::format("{} {}: there is no such file; allowed: a built library; try: "
                               "build/sim/lib/libmqa.so",
                               option, lib));
}

} // namespace mqalab
