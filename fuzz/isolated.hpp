// Checks in a process that may die.  On real hardware a kernel that faults takes its process's device context
// along, so whoever must go on after a finding (the gate, the minimiser, the triage) never touches the device
// itself: it asks a child, `mqalab serve-checks`, and starts another one when that was lost.  The simulator
// forgets faults, so there the oracle runs in this process.
#pragma once
#include "fuzz/oracle.hpp"

#include <concepts>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <sys/types.h>

namespace mqalab {

// With options, or always with the oracle's defaults.
class Checker {
public:
  using Function = std::function<Verdict(const Case&, const Fault*, const OracleOptions&)>;
  template <class F>
    requires std::invocable<F&, const Case&, const Fault*>
  Checker(F check)
      : check_([check = std::move(check)](const Case& c, const Fault* fault, const OracleOptions&) mutable {
          return check(c, fault);
        }) {}
  template <class F>
    requires std::invocable<F&, const Case&, const Fault*, const OracleOptions&>
  Checker(F check) : check_(std::move(check)) {}
  Verdict operator()(const Case& c, const Fault* fault, const OracleOptions& options = {}) const {
    return check_(c, fault, options);
  }

private:
  Function check_;
};
// The right one for this build's platform.
Checker make_checker();

class IsolatedOracle {
public:
  // program: an mqalab; empty: the running one.  timeout_seconds: a child that takes longer is killed,
  // verdict hang.
  explicit IsolatedOracle(std::string program = "", int timeout_seconds = 120);
  ~IsolatedOracle();
  IsolatedOracle(const IsolatedOracle&) = delete;
  // Of the options, the relations travel.
  Verdict check(const Case&, const Fault*, const OracleOptions& = {});

private:
  void start();
  void stop();
  bool send(const std::string& line);
  bool receive(std::string& line, bool& late);

  std::string program_;
  int timeout_seconds_;
  pid_t child_ = -1;
  int to_child_ = -1, from_child_ = -1;
  std::string pending_;
};

// The child's side: a line of JSON {"fault", "case", "relation"} in, a verdict on a line out, until the input
// ends or the device is lost.
void serve_checks(std::FILE* in, std::FILE* out);

} // namespace mqalab
