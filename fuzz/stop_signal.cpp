#include "fuzz/stop_signal.hpp"

#include <csignal>

namespace mqalab {
namespace {

volatile std::sig_atomic_t stop_requested = 0;

void on_signal(int signal) {
  stop_requested = 1;
  std::signal(signal, SIG_DFL);
}

} // namespace

StopSignal::StopSignal() {
  stop_requested = 0;
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

StopSignal::~StopSignal() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool StopSignal::requested() { return stop_requested != 0; }

} // namespace mqalab
