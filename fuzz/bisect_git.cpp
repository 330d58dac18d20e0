#include "fuzz/bisect_git.hpp"
#include "fuzz/commands.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <iterator>
#include <map>
#include <sstream>

namespace mqalab {
namespace {

constexpr double kGit_s = 600;

std::vector<std::string> git_command(const std::filesystem::path& folder,
                                     const std::vector<std::string>& words) {
  std::vector<std::string> command{"/usr/bin/env", "git", "-C", folder.string()};
  command.insert(command.end(), words.begin(), words.end());
  return command;
}

// "fatal: ..." is git's own way to begin.
std::string words_of(const ChildEnd& child) {
  const std::string line = last_line(child.err);
  return line.starts_with("fatal: ") ? line.substr(7) : line;
}

std::string ended(const ChildEnd& child, double most_seconds) {
  const std::string how = child.late ? fmt::format("no end within {:g} s", most_seconds) : child.end.text();
  const std::string words = words_of(child);
  return words.empty() ? how : fmt::format("{}: {}", how, words);
}

} // namespace

std::string this_program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

Revisions::Revisions(const Children& children, const GitOptions& options)
    : children_(children), repo_(options.repo) {
  // --repo says which one; a hook's variables would say another.
  for (const char* variable : {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"}) ::unsetenv(variable);
  const ChildEnd there = children_.run(git_command(repo_, {"rev-parse", "--git-dir"}), kGit_s);
  if (!there.succeeded())
    throw UsageError(fmt::format("--repo {}: {}; allowed: a folder of a git repository; try: --repo DIR",
                                 repo_, words_of(there)));
  const std::string good = commit_of(options.good, "--good"), bad = commit_of(options.bad, "--bad");
  const auto older = git_command(repo_, {"merge-base", "--is-ancestor", good, bad});
  if (good == bad || !children_.run(older, kGit_s).succeeded())
    throw UsageError(fmt::format(
        "--good {} is {} --bad {}; allowed: an ancestor of it; try: the output of git merge-base {} {}",
        options.good, good == bad ? "the same commit as" : "no ancestor of", options.bad, options.good,
        options.bad));
  read_history(good, bad);
}

std::string Revisions::commit_of(const std::string& revision, const std::string& option) const {
  const ChildEnd child =
      children_.run(git_command(repo_, {"rev-parse", "--verify", "--quiet", revision + "^{commit}"}), kGit_s);
  if (child.succeeded()) return last_line(child.out);
  throw UsageError(fmt::format("{} {}: {} has no such commit; allowed: a commit, a tag or a branch; try: git "
                               "log --oneline",
                               option, revision, repo_));
}

std::string Revisions::git(const std::vector<std::string>& words) const {
  const ChildEnd child = children_.run(git_command(repo_, words), kGit_s);
  if (!child.succeeded())
    throw std::runtime_error(fmt::format("git {}: {}", words.front(), ended(child, kGit_s)));
  return child.out;
}

// "commit NAME PARENT...", then the subject line; parents first.  A parent that is not listed is older than
// the good end, so good.
void Revisions::read_history(const std::string& good, const std::string& bad) {
  const std::string title = last_line(git({"log", "-1", "--no-show-signature", "--format=%s", good}));
  subjects_.push_back({good, fmt::format("{} {}", good.substr(0, 10), title)});
  history_.emplace_back();
  std::map<std::string, size_t> number{{good, 0}};
  std::istringstream lines(
      git({"rev-list", "--topo-order", "--reverse", "--parents", "--format=%s", bad, "^" + good}));
  for (std::string head, subject; std::getline(lines, head) && std::getline(lines, subject);) {
    std::istringstream words(head);
    const std::vector<std::string> names(std::istream_iterator<std::string>(words), {});
    std::vector<size_t> parents;
    for (size_t i = 2; i < names.size(); ++i)
      if (const auto parent = number.find(names[i]); parent != number.end())
        parents.push_back(parent->second);
    number[names.at(1)] = subjects_.size();
    subjects_.push_back({names[1], fmt::format("{} {}", names[1].substr(0, 10), subject)});
    history_.push_back(std::move(parents));
  }
}

Worktree::Worktree(const Children& children, const GitOptions& options, const std::filesystem::path& folder,
                   const std::string& commit)
    : children_(children), options_(options), folder_(folder) {
  const ChildEnd child = children_.run(
      git_command(options_.repo, {"worktree", "add", "--quiet", "--detach", folder_.string(), commit}),
      kGit_s);
  if (!child.succeeded())
    throw MachineTrouble(fmt::format("no working tree in {}: {}", folder_.string(), ended(child, kGit_s)));
}

Worktree::~Worktree() {
  // Not through children_, which would not start it any more after a stop was requested.
  try {
    WorkerProcess(git_command(options_.repo, {"worktree", "remove", "--force", "--force", folder_.string()}),
                  "/dev/null")
        .wait();
  } catch (const std::exception&) { // a note that `git worktree prune` removes
  }
}

// Outputs that git ignores stay, so that a build only does what changed; but the library itself goes, so that
// none is taken for this revision's that another one left.
std::string Worktree::why_not_built(const Subject& revision) const {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"checkout", "--quiet", "--force", "--detach", revision.name}, {"clean", "-fdq"}})
    if (const ChildEnd child = children_.run(git_command(folder_, words), kGit_s); !child.succeeded())
      return fmt::format("cannot be checked out: {}", ended(child, kGit_s));
  const std::string& made = options_.lib_path.empty() ? options_.program : options_.lib_path;
  std::filesystem::remove(folder_ / made);
  const ChildEnd child = children_.run(
      {"/bin/sh", "-c", "exec 1>&2; cd \"$0\" && eval \"$1\"", folder_.string(), options_.build},
      options_.build_seconds);
  if (!child.succeeded()) return fmt::format("does not build: {}", ended(child, options_.build_seconds));
  if (!std::filesystem::exists(folder_ / made)) return fmt::format("does not build {}", made);
  return "";
}

Prepared Worktree::prepare(const Subject& revision, const std::string& case_path) const {
  if (const std::string why_not = why_not_built(revision); !why_not.empty()) return {{}, {}, why_not};
  if (options_.lib_path.empty()) {
    const std::string program = folder_ / options_.program;
    return {{program, "check", case_path, "--json"}, program, ""};
  }
  const std::string library = folder_ / options_.lib_path;
  return {{this_program(), "check", case_path, "--lib", library, "--json"}, library, ""};
}

} // namespace mqalab
