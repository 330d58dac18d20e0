#include "fuzz/isolated.hpp"
#include "fuzz/commands.hpp"
#include "fuzz/verdict.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

namespace mqalab {
namespace {

Verdict ended(VerdictClass verdict, std::string message, std::string pattern) {
  Verdict v;
  v.verdict = verdict, v.message = std::move(message);
  v.signature = {verdict, std::move(pattern), ""};
  return v;
}

// What happened to a child that gave no answer.
Verdict without_answer(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status))
    return ended(VerdictClass::fault,
                 fmt::format("fault: the checking process died of signal {}", WTERMSIG(status)),
                 fmt::format("signal {}", WTERMSIG(status)));
  return ended(
      VerdictClass::none,
      fmt::format("none: the checking process ended with exit code {} and no answer", WEXITSTATUS(status)),
      "");
}

// A case on its way to the child: its record, in hex, because JSON refuses by itself what a case of the
// contract lane is there to be refused for.  What no record holds goes as JSON.
std::string packed(const Case& c) {
  if (!record_holds(c)) return to_json(c, -1);
  std::string hex;
  for (const uint8_t byte : encode(c)) hex += fmt::format("{:02x}", byte);
  return hex;
}
Case unpacked(const std::string& text) {
  if (text.starts_with('{')) return case_from_json(text, "serve-checks");
  std::vector<uint8_t> record;
  for (size_t i = 0; i + 1 < text.size(); i += 2)
    record.push_back(static_cast<uint8_t>(std::stoul(text.substr(i, 2), nullptr, 16)));
  return decode(record);
}

} // namespace

Checker make_checker() {
#ifdef MQALAB_SIM
  auto oracle = std::make_shared<Oracle>();
#else
  auto oracle = std::make_shared<IsolatedOracle>();
#endif
  return [oracle](const Case& c, const Fault* fault, const OracleOptions& options) {
    return oracle->check(c, fault, options);
  };
}

IsolatedOracle::IsolatedOracle(std::string program, int timeout_seconds)
    : program_(program.empty() ? std::filesystem::read_symlink("/proc/self/exe").string()
                               : std::move(program)),
      timeout_seconds_(timeout_seconds) {}
IsolatedOracle::~IsolatedOracle() { stop(); }

void IsolatedOracle::start() {
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0)
    throw std::runtime_error("no pipe to a checking process: out of file descriptors");
  if (pipe2(out, O_CLOEXEC) != 0) {
    close(in[0]), close(in[1]);
    throw std::runtime_error("no pipe to a checking process: out of file descriptors");
  }
  child_ = fork();
  if (child_ == 0) {
    setpgid(0, 0); // a Ctrl-C is for the parent, which stops its children in order
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    execl(program_.c_str(), program_.c_str(), "serve-checks", static_cast<char*>(nullptr));
    _exit(127);
  }
  close(in[0]), close(out[1]);
  to_child_ = in[1], from_child_ = out[0];
  pending_.clear();
  if (child_ < 0) {
    stop();
    throw std::runtime_error("a checking process could not be started: fork failed");
  }
}

void IsolatedOracle::stop() {
  for (int* end : {&to_child_, &from_child_})
    if (*end >= 0) close(*end), *end = -1;
  if (child_ <= 0) return;
  kill(child_, SIGKILL);
  waitpid(child_, nullptr, 0);
  child_ = -1;
}

bool IsolatedOracle::send(const std::string& line) {
  for (size_t sent = 0; sent < line.size();) {
    const ssize_t n = write(to_child_, line.data() + sent, line.size() - sent);
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) sent += static_cast<size_t>(n);
  }
  return true;
}

bool IsolatedOracle::receive(std::string& line, bool& late) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::seconds(timeout_seconds_);
  for (;;) {
    if (const size_t end = pending_.find('\n'); end != std::string::npos) {
      line = pending_.substr(0, end), pending_.erase(0, end + 1);
      return true;
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    late = left <= 0;
    if (late) return false;
    pollfd ready{from_child_, POLLIN, 0};
    if (poll(&ready, 1, static_cast<int>(left)) <= 0) continue;
    char buffer[4096];
    const ssize_t n = read(from_child_, buffer, sizeof buffer);
    if (n == 0 || (n < 0 && errno != EINTR)) return false;
    if (n > 0) pending_.append(buffer, static_cast<size_t>(n));
  }
}

Verdict IsolatedOracle::check(const Case& c, const Fault* fault, const OracleOptions& options) {
  struct IgnorePipe { // a child that died must not take its parent along
    struct sigaction old;
    IgnorePipe() {
      struct sigaction ignore{};
      ignore.sa_handler = SIG_IGN;
      sigaction(SIGPIPE, &ignore, &old);
    }
    ~IgnorePipe() { sigaction(SIGPIPE, &old, nullptr); }
  } ignore_pipe;
  if (child_ <= 0) start();
  const nlohmann::json request{
      {"fault", fault ? fault->name : ""}, {"case", packed(c)}, {"relation", relations_text(options)}};
  std::string line;
  bool late = false;
  if (send(request.dump() + "\n") && receive(line, late)) {
    Verdict v = verdict_from_json(line);
    if (v.verdict == VerdictClass::fault || v.verdict == VerdictClass::hang) stop();
    return v;
  }
  if (late) {
    stop();
    return ended(VerdictClass::hang,
                 fmt::format("hang: no answer within {} s; the process was killed", timeout_seconds_),
                 "hung");
  }
  const Verdict v = without_answer(child_);
  child_ = -1;
  stop();
  return v;
}

void serve_checks(std::FILE* in, std::FILE* out) {
  Oracle oracle;
  char* text = nullptr;
  size_t room = 0;
  while (getline(&text, &room, in) > 0) {
    const auto request = nlohmann::json::parse(text);
    const std::string name = request.at("fault");
    const Case c = unpacked(request.at("case"));
    const auto options = options_with_relations(request.value("relation", "drawn"));
    const Verdict v = oracle.check(c, name.empty() ? nullptr : find_fault(name), options.value());
    fmt::print(out, "{}\n", to_json(v, -1));
    std::fflush(out);
    if (oracle.device_lost()) break;
  }
  std::free(text);
}

void add_serve_checks(CLI::App& app, ExitCode& code) {
  CLI::App* command = app.add_subcommand("serve-checks", "checks for another process of ours");
  command->group(""); // hidden
  command->callback([&code] {
    serve_checks(stdin, stdout);
    code = ExitCode::clean;
  });
}

} // namespace mqalab
