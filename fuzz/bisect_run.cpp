#include "fuzz/bisect_run.hpp"
#include "fuzz/commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

namespace mqalab {
namespace {

using Saw = Observation::Saw;

Observation failed(VerdictClass verdict, std::string pattern, std::string text) {
  return {Saw::failure, {verdict, std::move(pattern), ""}, std::move(text), ""};
}

std::optional<Verdict> verdict_in(const std::string& out) {
  try {
    return verdict_from_json(out);
  } catch (const std::runtime_error&) {
    return {};
  }
}

// The first line of a complaint says what is wrong; those after it what to do about it, which is for others.
std::string complaint(const std::string& err) {
  const size_t begin = err.rfind("mqalab check: ");
  return begin == std::string::npos ? last_line(err) : err.substr(begin, err.find('\n', begin) - begin);
}

// Every hang is one: who gave up waiting, we or the device, is chance.
bool same_failure(const Signature& a, const Signature& b) {
  return same_bug(a, b) || (a.verdict == VerdictClass::hang && b.verdict == VerdictClass::hang);
}

Observation without_verdict(const ChildEnd& child) {
  const ProcessEnd& end = child.end;
  // The machine's doing (the system short of memory, somebody who cleans up), not the library's.
  if (end.signal == SIGKILL || end.signal == SIGTERM)
    throw MachineTrouble(fmt::format("the check was ended by {}", end.text()));
  if (end.signal)
    return failed(VerdictClass::fault, end.text(), fmt::format("fault: the check died of {}", end.text()));
  if (end.exit_code == static_cast<int>(ExitCode::degraded)) throw MachineTrouble(complaint(child.err));
  const std::string words = complaint(child.err);
  return {Saw::nothing, {}, words.empty() ? fmt::format("the check ended with {}", end.text()) : words, ""};
}

} // namespace

Observation seen(const ChildEnd& child, double most_seconds) {
  if (child.late)
    return failed(VerdictClass::hang, "hung",
                  fmt::format("hang: no answer within {:g} s; the process was stopped", most_seconds));
  const auto v = verdict_in(child.out);
  if (v && is_finding(v->verdict)) return {Saw::failure, v->signature, v->message, ""};
  if (v && v->verdict == VerdictClass::ok && child.succeeded()) return {Saw::pass, {}, "passes", ""};
  if (v && v->verdict == VerdictClass::none) throw MachineTrouble(v->message);
  if (v && v->verdict == VerdictClass::rejected) return {Saw::nothing, {}, v->message, ""};
  return without_verdict(child);
}

Observation Interview::run(const Subject& subject, const Prepared& prepared) {
  ++runs_;
  try {
    Observation now = seen(children_.run(prepared.command, options_.most_seconds), options_.most_seconds);
    if (!prepared.library.empty()) now.library = digest_of(prepared.library);
    return now;
  } catch (const MachineTrouble& e) {
    throw MachineTrouble(fmt::format("{}: {}", subject.title, e.what()));
  }
}

Answer Interview::answer_of(const Observation& run) const {
  if (run.saw == Saw::pass) return Answer::good;
  if (run.saw != Saw::failure) return Answer::skip;
  const bool same = !failure_ || options_.any_failure || same_failure(run.signature, failure_->signature);
  return same ? Answer::bad : Answer::skip;
}

std::optional<Answer> Interview::known(const Subject& subject) {
  const std::vector<Observation>& runs = state_.runs(subject.name);
  if (std::ranges::count(runs, Saw::no_subject, &Observation::saw)) return Answer::skip;
  std::vector<Answer> answers;
  for (const Observation& run : runs) answers.push_back(answer_of(run));
  return settled(answers, options_.repeats);
}

Answer Interview::ask(const Subject& subject) {
  std::optional<Prepared> prepared;
  for (;;) {
    if (const auto answer = known(subject)) return *answer;
    if (!prepared) prepared = prepare_(subject);
    state_.record(subject.name, prepared->why_not.empty()
                                    ? run(subject, *prepared)
                                    : Observation{Saw::no_subject, {}, prepared->why_not, ""});
  }
}

std::string Interview::why(const Subject& subject) {
  const auto answer = known(subject);
  const std::vector<Observation>& runs = state_.runs(subject.name);
  const auto run = std::ranges::find_if(
      runs, [&](const Observation& r) { return answer == answer_of(r) || r.saw == Saw::no_subject; });
  if (run == runs.end()) return "not asked";
  const std::string often = runs.size() > 1 ? fmt::format(", {} runs", runs.size()) : "";
  return (answer == Answer::skip && run->saw == Saw::failure ? "fails in another way: " : "") + run->text +
         often;
}

void Interview::require_bad(const Subject& subject, const std::string& who, const std::string& otherwise) {
  const Answer answer = ask(subject);
  if (answer != Answer::bad) refuse(subject, answer, who, "fails", otherwise);
  const std::vector<Observation>& runs = state_.runs(subject.name);
  failure_ = *std::ranges::find(runs, Saw::failure, &Observation::saw);
}

void Interview::require_good(const Subject& subject, const std::string& who, const std::string& otherwise) {
  const Answer answer = ask(subject);
  if (answer != Answer::good) refuse(subject, answer, who, "passes", otherwise);
}

void Interview::refuse(const Subject& subject, Answer answer, const std::string& who,
                       const std::string& wanted, const std::string& otherwise) {
  throw UsageError(fmt::format("{} {}: {}{}; allowed: one that {}; try: {}{}", who, subject.title,
                               answer == Answer::bad ? "fails, too: " : "", why(subject), wanted, otherwise,
                               answer == Answer::skip ? ", and --log FILE for what was said" : ""));
}

Bisection search(const std::vector<Subject>& subjects, const History& history,
                 const std::set<std::string>& skip, Interview& interview, const Told& told) {
  Bisection bisection(history);
  while (const auto next = bisection.next()) {
    const Subject& subject = subjects[*next];
    const Answer answer = skip.contains(subject.name) ? Answer::skip : interview.ask(subject);
    bisection.tell(*next, answer);
    told(subject, answer, bisection);
  }
  return bisection;
}

} // namespace mqalab
