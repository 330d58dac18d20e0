// What the three kinds of bisection share: options, a folder for the time being, the state, progress.
#pragma once
#include "fuzz/bisect_git.hpp"
#include "fuzz/case.hpp"
#include "fuzz/commands.hpp"
#include "fuzz/progress.hpp"
#include "fuzz/stop_signal.hpp"

#include <memory>

namespace mqalab {

struct BisectOptions {
  std::string path, lib, fault, state, log;
  GitOptions git;
  std::vector<std::string> libs, skip;
  bool config = false, any_failure = false, json = false;
  size_t repeat = 1;
  double timeout = 600;
};

ExitCode bisect_revisions(const BisectOptions&);
ExitCode bisect_libraries(const BisectOptions&);
ExitCode bisect_config(const BisectOptions&);

// Everything that must be gone at the end: files of the children, the working tree.
class Scratch {
public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  std::filesystem::path path;
};

class Session {
public:
  explicit Session(const BisectOptions&);
  // Opens the state.  `question` is what the mode adds to what every question holds.
  void ask_for(nlohmann::json question);
  Interview interview(Interview::Prepare);
  // An answer, as a line of progress; `left` is what is still to do.
  void say(const Subject&, Answer, const std::string& why, const std::string& left = "");
  void print(const nlohmann::json&, const std::string& text);

  const BisectOptions& options;
  const StopSignal stop; // from before the first child
  Progress progress;
  Scratch scratch;
  Case start;
  Children children;
  std::string case_path; // a copy, so that all runs are of the same case
  std::unique_ptr<BisectState> state;

private:
  std::string current_;
};

// Whole, so that a state names it the same from every folder; throws UsageError for none.
std::string library_path(const std::string& lib, const std::string& option);

} // namespace mqalab
