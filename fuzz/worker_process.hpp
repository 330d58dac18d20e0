// One child process (mqalab-fuzzer, a check apart, a build): started in a group of its own, so that a Ctrl-C
// reaches the coordinator alone, which then stops it in order, with whatever it has started.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace mqalab {

// Beside the running program, or what MQALAB_FUZZER names.  Throws std::runtime_error with what to do.
std::filesystem::path fuzzer_program();

// How a process ended, in words: "exit code 77", "SIGKILL".
struct ProcessEnd {
  int exit_code = 0, signal = 0;
  std::string text() const;
};

class WorkerProcess {
public:
  // stdout and stderr go to `log`, appended; stdout to `out` instead, if it is named.
  WorkerProcess(const std::vector<std::string>& command, const std::filesystem::path& log,
                const std::filesystem::path& out = {});
  ~WorkerProcess() { stop(); }
  WorkerProcess(WorkerProcess&&) noexcept;
  WorkerProcess& operator=(WorkerProcess&&) noexcept;
  bool running() const { return pid_ > 0; }
  // Set once the process has ended; later calls give it again.
  std::optional<ProcessEnd> poll();
  ProcessEnd wait();
  void stop(); // SIGTERM to the group, then SIGKILL to what is left of it, after two seconds at the latest

private:
  bool reap(int flags);
  pid_t pid_ = -1;
  std::optional<ProcessEnd> end_;
};

} // namespace mqalab
