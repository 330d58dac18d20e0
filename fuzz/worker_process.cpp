#include "fuzz/worker_process.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

extern char** environ;

namespace mqalab {
namespace {

constexpr int kPatience_ms = 2000;

} // namespace

std::filesystem::path fuzzer_program() {
  if (const char* named = std::getenv("MQALAB_FUZZER")) return named;
  const auto beside = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "mqalab-fuzzer";
  if (std::filesystem::exists(beside)) return beside;
  throw std::runtime_error(fmt::format(
      "{} is missing; build it (cmake --build --preset sim --target mqalab-fuzzer), or name it in "
      "MQALAB_FUZZER",
      beside.string()));
}

std::string ProcessEnd::text() const {
  if (signal == 0) return fmt::format("exit code {}", exit_code);
  const char* abbreviation = sigabbrev_np(signal);
  return abbreviation ? fmt::format("SIG{}", abbreviation) : fmt::format("signal {}", signal);
}

WorkerProcess::WorkerProcess(const std::vector<std::string>& command, const std::filesystem::path& log,
                             const std::filesystem::path& out) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  if (!out.empty())
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  const int error = posix_spawn(&pid_, arguments[0], &files, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) {
    pid_ = -1;
    throw std::runtime_error(fmt::format("{} cannot be started: {}", command.front(), std::strerror(error)));
  }
}

WorkerProcess::WorkerProcess(WorkerProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), end_(other.end_) {}

WorkerProcess& WorkerProcess::operator=(WorkerProcess&& other) noexcept {
  stop();
  pid_ = std::exchange(other.pid_, -1);
  end_ = other.end_;
  return *this;
}

bool WorkerProcess::reap(int flags) {
  int status = 0;
  if (pid_ <= 0 || ::waitpid(pid_, &status, flags) != pid_) return false;
  pid_ = -1;
  end_ = WIFSIGNALED(status) ? ProcessEnd{0, WTERMSIG(status)} : ProcessEnd{WEXITSTATUS(status), 0};
  return true;
}

std::optional<ProcessEnd> WorkerProcess::poll() {
  reap(WNOHANG);
  return end_;
}

ProcessEnd WorkerProcess::wait() {
  reap(0);
  return end_.value_or(ProcessEnd{});
}

void WorkerProcess::stop() {
  if (pid_ <= 0) return;
  const pid_t group = -pid_;
  ::kill(group, SIGTERM);
  for (int waited = 0; waited < kPatience_ms && !reap(WNOHANG); waited += 5) ::usleep(5000);
  ::kill(group, SIGKILL);
  reap(0);
}

} // namespace mqalab
