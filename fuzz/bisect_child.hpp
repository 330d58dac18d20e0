// A child of a bisection (git, a build, a check), from its start to its end.
#pragma once
#include "fuzz/worker_process.hpp"

#include <functional>
#include <stdexcept>

namespace mqalab {

// A stop was requested (stop_signal.hpp); the child that ran is stopped already.
struct Stopped : std::runtime_error {
  Stopped() : std::runtime_error("stopped on request") {}
};

struct ChildEnd {
  ProcessEnd end;
  bool late = false; // took too long and was stopped, with whatever it had started
  std::string out, err;
  bool succeeded() const { return !late && end.signal == 0 && end.exit_code == 0; }
};

// Where children write: one at a time, so that the two files serve them all.
class Children {
public:
  // What they say on stderr is also appended to `log`, unless that is empty.
  Children(const std::filesystem::path& scratch, std::filesystem::path log);
  // Asked again and again while a child runs.
  std::function<void(double seconds)> waiting;
  ChildEnd run(const std::vector<std::string>& command, double most_seconds) const;

private:
  ChildEnd attend(WorkerProcess&, double most_seconds) const;
  std::filesystem::path out_, err_, log_;
};

// The last line that says something; "" when none does.
std::string last_line(const std::string& text);

} // namespace mqalab
