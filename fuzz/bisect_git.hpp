// The revisions between two ends of a git history, and a working tree apart in which they are built.
#pragma once
#include "fuzz/bisect_run.hpp"

namespace mqalab {

struct GitOptions {
  std::string repo = ".", good, bad;
  std::string build;             // for sh, in the working tree
  std::string lib_path, program; // relative to it: libmqa.so, or an mqalab of its own
  double build_seconds = 3600;
};

// Throws UsageError for names that are no revisions, and for a good one that is not an ancestor of the bad
// one.
class Revisions {
public:
  Revisions(const Children&, const GitOptions&);
  const std::vector<Subject>& subjects() const { return subjects_; } // the first is good, the last is bad
  const History& history() const { return history_; }
  std::string commit_of(const std::string& revision, const std::string& option) const; // its full name

private:
  std::string git(const std::vector<std::string>& words) const;
  void read_history(const std::string& good, const std::string& bad);

  const Children& children_;
  std::string repo_;
  std::vector<Subject> subjects_;
  History history_;
};

// A working tree in a folder of ours; gone with it, and git's note of it, too.
class Worktree {
public:
  Worktree(const Children&, const GitOptions&, const std::filesystem::path& folder,
           const std::string& commit);
  ~Worktree();
  Worktree(const Worktree&) = delete;
  // Checks out and builds: the command to check `case_path` with, or why there is none.
  Prepared prepare(const Subject&, const std::string& case_path) const;

private:
  std::string why_not_built(const Subject&) const;

  const Children& children_;
  GitOptions options_;
  std::filesystem::path folder_;
};

// The running mqalab.
std::string this_program();

} // namespace mqalab
