// How a launch ends early, and what is said about it. A fault jumps
// (siglongjmp) from the instruction's handler, or from the signal handler,
// back to run_kernel(): whatever needs a destructor must not live in between.
#include "faults.hpp"

#include "executor.hpp"

#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <mutex>

namespace amdsim {

std::string last_message;
bool quiet = false;

// ---- messages -----------------------------------------------------------------------------------
static std::string format_list(const char* format, va_list arguments) {
  char text[2000];
  vsnprintf(text, sizeof text, format, arguments);
  return text;
}

static void to_stderr(const std::string& line) {
  fprintf(stderr, "amdsim: %s\n", line.c_str());
  fflush(stderr);
}

void say(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  to_stderr(format_list(format, arguments));
  va_end(arguments);
}

void report(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  last_message = format_list(format, arguments);
  va_end(arguments);
  if (!quiet) to_stderr(last_message);
}

static std::string where() {
  char b[700];
  if (!R.k) return "";
  if (!R.w) {
    snprintf(b, sizeof b, "kernel '%s'", R.k->name.c_str());
    return b;
  }
  const uint32_t* block = R.w->grp->gid;
  const char *quote = R.in ? "`" : "", *text = R.in ? R.in->text.c_str() : "";
  snprintf(b, sizeof b, "kernel '%s', block (%u,%u,%u) wave %d, pc +%#llx%s%s%.300s%s", R.k->name.c_str(),
           block[0], block[1], block[2], R.w->id, (unsigned long long)(R.w->pc() - R.k->entry),
           R.in ? " " : "", quote, text, quote);
  return b;
}

void fault(Status status, const char* format, ...) {
  static char what[1200]; // no std::string: the jump would leak it
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  R.status = status;
  R.msg = where() + ": " + what;
  siglongjmp(R.jb, 1);
}

// ---- signals ------------------------------------------------------------------------------------
namespace {

struct Handled {
  int signal;
  struct sigaction before; // the program's own, a sanitizer's or libFuzzer's
} handled[] = {{SIGSEGV, {}}, {SIGBUS, {}}, {SIGFPE, {}}};

void pass_on(int signal, siginfo_t* info, void* context, const struct sigaction& before) {
  if (before.sa_flags & SA_SIGINFO) return before.sa_sigaction(signal, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(signal);
  fprintf(stderr, "amdsim: signal %d in host code at address %p: %s\n", signal, info->si_addr,
          mem_describe((uintptr_t)info->si_addr));
  sigaction(signal, &before, nullptr); // the fault happens again, with the program's own disposition
}

void on_signal(int signal, siginfo_t* info, void* context) {
  if (R.active && pthread_equal(R.tid, pthread_self())) {
    if (signal == SIGFPE) fault(Status::Fault, "the instruction raised SIGFPE");
    fault(Status::Fault, "memory fault at %p: %s", info->si_addr, mem_describe((uintptr_t)info->si_addr));
  }
  for (const Handled& h : handled)
    if (h.signal == signal) pass_on(signal, info, context, h.before);
}

} // namespace

// SA_NODEFER leaves the signal mask alone, so that the jump out of the
// handler has nothing to restore. SA_ONSTACK: where a sanitizer gave the
// thread a second stack, an overflow of the first still reaches its report.
void install_signals() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction ours = {};
    ours.sa_sigaction = on_signal;
    ours.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    for (Handled& h : handled) sigaction(h.signal, &ours, &h.before);
  });
}

} // namespace amdsim
