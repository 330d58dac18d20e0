#include "fuzz/bisect_child.hpp"
#include "fuzz/disk.hpp"
#include "fuzz/stop_signal.hpp"

#include <chrono>
#include <thread>
#include <utility>

namespace mqalab {
namespace {

constexpr std::chrono::milliseconds kPoll{5};

} // namespace

Children::Children(const std::filesystem::path& scratch, std::filesystem::path log)
    : out_(scratch / "stdout"), err_(scratch / "stderr"), log_(std::move(log)) {}

ChildEnd Children::attend(WorkerProcess& child, double most_seconds) const {
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    if (const auto end = child.poll()) return {*end, false, {}, {}};
    if (StopSignal::requested()) {
      child.stop();
      throw Stopped();
    }
    const std::chrono::duration<double> past = std::chrono::steady_clock::now() - start;
    if (past.count() > most_seconds) {
      child.stop();
      return {{}, true, {}, {}};
    }
    if (waiting) waiting(past.count());
    std::this_thread::sleep_for(kPoll);
  }
}

ChildEnd Children::run(const std::vector<std::string>& command, double most_seconds) const {
  std::filesystem::remove(err_);
  WorkerProcess child(command, err_, out_);
  ChildEnd result = attend(child, most_seconds);
  result.out = read_whole(out_), result.err = read_whole(err_);
  const std::string_view said = std::string_view(result.err).substr(0, result.err.find_last_not_of('\n') + 1);
  if (!log_.empty() && !said.empty()) Journal(log_).append(said);
  return result;
}

std::string last_line(const std::string& text) {
  const size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return "";
  const size_t before = text.find_last_of('\n', end);
  const size_t begin = before == std::string::npos ? 0 : before + 1;
  return text.substr(begin, end + 1 - begin);
}

} // namespace mqalab
