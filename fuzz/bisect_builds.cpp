// mqalab bisect over revisions or built libraries: one search, two ways to come by a library.
#include "fuzz/bisect_report.hpp"
#include "fuzz/bisect_session.hpp"

#include <fmt/format.h>

namespace mqalab {
namespace {

using Json = nlohmann::json;

// How the user names the ends, and what else to try when one is none.
struct Ends {
  std::string good, bad, older, newer;
};

ExitCode bisect_builds(Session& session, const Ends& ends, BuildReport report, const History& history,
                       const std::set<std::string>& skip, const Interview::Prepare& prepare) {
  Interview interview = session.interview(prepare);
  const auto heard = [&](const Subject& s, Answer answer, const std::string& left) {
    const bool unasked = answer == Answer::skip && skip.contains(s.name);
    report.asked.push_back({s, answer, unasked ? "--skip" : interview.why(s)});
    session.say(s, answer, report.asked.back().why, left);
  };
  const Subject &good = report.subjects.front(), &bad = report.subjects.back();
  interview.require_bad(bad, ends.bad, ends.newer + ", or --repeat N if the failure comes and goes");
  heard(bad, Answer::bad, "");
  interview.require_good(good, ends.good, ends.older);
  heard(good, Answer::good, "");
  const Bisection found = search(
      report.subjects, history, skip, interview, [&](const Subject& s, Answer answer, const Bisection& b) {
        heard(s, answer,
              fmt::format("; {} suspects left, about {} to ask", b.suspects().size(), b.steps_left()));
      });
  report.failure = interview.failure(), report.runs = interview.runs();
  session.print(json_of(report, found), text_of(report, found));
  return ExitCode::findings;
}

} // namespace

ExitCode bisect_revisions(const BisectOptions& o) {
  Session session(o);
  const Revisions revisions(session.children, o.git);
  const std::vector<Subject>& subjects = revisions.subjects();
  std::set<std::string> skip;
  for (const std::string& revision : o.skip) skip.insert(revisions.commit_of(revision, "--skip"));
  session.ask_for({{"mode", "git"},
                   {"good", subjects.front().name},
                   {"bad", subjects.back().name},
                   {"build", o.git.build},
                   {"build_timeout", o.git.build_seconds},
                   {"lib_path", o.git.lib_path},
                   {"program", o.git.program}});
  const Worktree tree(session.children, o.git, session.scratch.path / "tree", subjects.back().name);
  return bisect_builds(session, {"--good", "--bad", "an older --good", "another --bad"},
                       {"git", "revisions", subjects, {}, {}, 0}, revisions.history(), skip,
                       [&](const Subject& s) { return tree.prepare(s, session.case_path); });
}

ExitCode bisect_libraries(const BisectOptions& o) {
  if (o.libs.size() < 2)
    throw UsageError(
        fmt::format("--libs names {}; allowed: two or more, the oldest first; try: --libs good.so bad.so",
                    o.libs.size()));
  BuildReport report{"libs", "libraries", {}, {}, {}, 0};
  Json digests = Json::array();
  for (const std::string& lib : o.libs) {
    const std::string path = library_path(lib, "--libs");
    report.subjects.push_back({path, lib});
    digests.push_back({{"path", path}, {"digest", digest_of(path)}});
  }
  std::set<std::string> skip;
  for (const std::string& lib : o.skip) skip.insert(library_path(lib, "--skip"));
  Session session(o);
  session.ask_for({{"mode", "libs"}, {"libs", digests}});
  const History history = straight_history(report.subjects.size());
  return bisect_builds(
      session, {"--libs, its first one,", "--libs, its last one,", "an older first one", "another last one"},
      std::move(report), history, skip, [&](const Subject& s) {
        return Prepared{{this_program(), "check", session.case_path, "--lib", s.name, "--json"}, s.name, ""};
      });
}

} // namespace mqalab
