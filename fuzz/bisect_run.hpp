// Asks the subjects of a bisection (a revision, a library, a configuration): the case runs in a process of
// its own, which may crash or hang, as often as a flaky failure needs.
#pragma once
#include "fuzz/bisect.hpp"
#include "fuzz/bisect_child.hpp"
#include "fuzz/bisect_state.hpp"

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace mqalab {

// Exit code 20: the machine gave no verdict, which says nothing of the subject.
struct MachineTrouble : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Subject {
  std::string name;  // in the state and in JSON
  std::string title; // for people
};

// A subject made ready: the command that checks the case on it, or why it cannot be.
struct Prepared {
  std::vector<std::string> command;
  std::filesystem::path library; // "" when it is the same for all
  std::string why_not;
};

struct InterviewOptions {
  size_t repeats = 1;
  bool any_failure = false; // else another failure than that of the bad end is no answer
  double most_seconds = 600;
};

class Interview {
public:
  using Prepare = std::function<Prepared(const Subject&)>;
  Interview(BisectState& state, const Children& children, Prepare prepare, InterviewOptions options)
      : state_(state), children_(children), prepare_(std::move(prepare)), options_(options) {}

  // Only what the state does not know is run.  Throws MachineTrouble and Stopped.
  Answer ask(const Subject&);
  // The ends, the bad one first: its failure is the one that is looked for.  `who` is what the user calls it,
  // `otherwise` what to do when it is not so; throws UsageError.
  void require_bad(const Subject&, const std::string& who, const std::string& otherwise);
  void require_good(const Subject&, const std::string& who, const std::string& otherwise);

  std::string why(const Subject&); // what its runs came to, in words
  const Observation& failure() const { return failure_.value(); }
  int64_t runs() const { return runs_; } // in this process

private:
  Answer answer_of(const Observation&) const;
  [[noreturn]] void refuse(const Subject&, Answer, const std::string& who, const std::string& wanted,
                           const std::string& otherwise);
  std::optional<Answer> known(const Subject&);
  Observation run(const Subject&, const Prepared&);

  BisectState& state_;
  const Children& children_;
  Prepare prepare_;
  InterviewOptions options_;
  std::optional<Observation> failure_;
  int64_t runs_ = 0;
};

// What a check's end says of its subject; throws MachineTrouble.
Observation seen(const ChildEnd&, double most_seconds);

// Between the ends, which are known: asks until nothing more can be told.  Those in `skip` are not asked.
using Told = std::function<void(const Subject&, Answer, const Bisection&)>;
Bisection search(const std::vector<Subject>&, const History&, const std::set<std::string>& skip, Interview&,
                 const Told&);

} // namespace mqalab
