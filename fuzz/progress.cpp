#include "fuzz/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <sys/ioctl.h>
#include <unistd.h>

namespace mqalab {
namespace {

constexpr std::chrono::milliseconds kBetweenUpdates{200}, kBetweenLines{5000};

size_t columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 100;
}

} // namespace

Progress::Progress() : terminal_(isatty(STDERR_FILENO) == 1) {}

void Progress::show(const std::string& line) {
  const auto now = std::chrono::steady_clock::now();
  const auto pause = terminal_ ? kBetweenUpdates : kBetweenLines;
  if (last_.time_since_epoch().count() != 0 && now - last_ < pause) return;
  last_ = now;
  if (!terminal_) return keep(line);
  fmt::print(stderr, "\r\033[K{}", line.substr(0, columns() - 1));
  std::fflush(stderr);
  open_ = true;
}

void Progress::keep(const std::string& line) {
  if (open_) fmt::print(stderr, "\r\033[K");
  open_ = false;
  fmt::print(stderr, "{}\n", line);
  std::fflush(stderr);
}

void Progress::done() {
  if (open_) fmt::print(stderr, "\n");
  open_ = false;
}

std::string span_text(double seconds) {
  const auto whole = static_cast<int64_t>(std::max(seconds, 0.0) + 0.5);
  return whole < 60 ? fmt::format("{} s", whole) : fmt::format("{}:{:02}", whole / 60, whole % 60);
}

} // namespace mqalab
