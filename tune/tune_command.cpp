// mqalab tune: certify and cost every configuration for a list of problems.
#include "tune/commands.hpp"
#include "tune/tuner.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <regex>

namespace mqalab {
namespace {

struct TuneCommand {
  std::string problems, database, filter, shard = "1/1";
  double budget = 0;
  uint64_t seed = 1;
  bool dry_run = false, json = false;
};

volatile std::sig_atomic_t interrupted = 0;

// The first Ctrl-C asks to stop after the running trial, the second kills.
extern "C" void on_interrupt(int signal) {
  interrupted = 1;
  std::signal(signal, SIG_DFL);
}

Shard parse_shard(const std::string& text) {
  Shard shard;
  char rest = 0;
  if (std::sscanf(text.c_str(), "%9d/%9d%c", &shard.index, &shard.count, &rest) != 2 || shard.index < 1 ||
      shard.index > shard.count)
    throw UsageError(fmt::format("--shard is {}; allowed: I/N with 1 <= I <= N; try: --shard 1/4", text));
  return shard;
}

std::vector<TuneProblem> wanted(const TuneCommand& o, const Shard& shard) {
  auto problems = load_problems(o.problems);
  const size_t all = problems.size();
  try {
    const std::regex filter(o.filter);
    std::erase_if(problems, [&](const TuneProblem& p) { return !std::regex_search(p.key, filter); });
  } catch (const std::regex_error& e) {
    throw UsageError(
        fmt::format("--filter is {}; allowed: a regular expression ({}); try: h64", o.filter, e.what()));
  }
  if (problems.empty())
    throw UsageError(fmt::format(
        "--filter is {}; allowed: one that matches some of the {} problem keys; try: h", o.filter, all));
  std::erase_if(problems, [&](const TuneProblem& p) { return !shard.owns(p.key); });
  return problems;
}

// One line that overwrites itself on a terminal, one line in a hundred in a log.
class ProgressLine {
public:
  void operator()(const std::string& line) {
    const bool important = line.find("not certified") != std::string::npos;
    if (terminal_)
      fmt::print(stderr, "\r\033[K{}{}", line, important ? "\n" : "");
    else if (important || ++count_ % 25 == 1)
      fmt::print(stderr, "{}\n", line);
    std::fflush(stderr);
  }
  void end() {
    if (terminal_) fmt::print(stderr, "\r\033[K");
  }

private:
  bool terminal_ = ::isatty(2) != 0;
  int count_ = 0;
};

nlohmann::json to_json(const ProblemOutcome& p) {
  return {{"problem", p.key},
          {"candidates", p.candidates},
          {"resumed", p.resumed},
          {"certified", p.passed},
          {"failed", p.failed},
          {"config", p.best.config},
          {"microseconds", p.best.microseconds},
          {"default_microseconds", p.best.default_microseconds},
          {"ratio", p.best.ratio},
          {"origin", p.best.origin}};
}

void print_outcome(const TuneCommand& o, const TuneOutcome& outcome) {
  if (o.json) {
    nlohmann::json j = {
        {"stopped", outcome.stopped}, {"problems_left", outcome.left}, {"problems", nlohmann::json::array()}};
    for (const ProblemOutcome& p : outcome.problems) j["problems"].push_back(to_json(p));
    return fmt::print("{}\n", j.dump(2));
  }
  for (const ProblemOutcome& p : outcome.problems) {
    fmt::print("{}\n  {} configurations, {} certified, {} failed, {} known from before\n", p.key,
               p.candidates, p.passed, p.failed, p.resumed);
    if (p.best.config.empty())
      fmt::print("  none is served yet\n");
    else
      fmt::print("  best: {}  {:.2f} us, {:.2f} of the default's {:.2f} us ({})\n", p.best.config,
                 p.best.microseconds, p.best.ratio, p.best.default_microseconds, p.best.origin);
  }
}

void print_resume(const TuneCommand& o, const TuneOutcome& outcome) {
  if (!outcome.stopped) return;
  fmt::print(stderr,
             "stopped: {} problems are not finished; what is finished is kept in {}\n  the same command "
             "continues: mqalab tune --problems {} --db {}{}\n",
             outcome.left, o.database, o.problems, o.database, o.shard == "1/1" ? "" : " --shard " + o.shard);
}

ExitCode dry_run(const std::vector<TuneProblem>& problems) {
  for (const TuneProblem& p : problems)
    fmt::print("{}\n  weight {}, {} configurations, default {}\n", p.key, p.weight,
               device_space(p.shape).size(), config_text(device_space(p.shape).front().config));
  return ExitCode::clean;
}

ExitCode run_tune(const TuneCommand& o) {
  TuneOptions options;
  options.budget_seconds = o.budget, options.seed = o.seed, options.shard = parse_shard(o.shard);
  const auto problems = wanted(o, options.shard);
  if (o.dry_run) return dry_run(problems);
  Store store = Store::open_or_create(o.database);
  Oracle oracle;
  ProgressLine line;
  options.progress = [&line](const std::string& text) { line(text); };
  options.stop = [] { return interrupted != 0; };
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  const TuneOutcome outcome = tune(store, oracle, problems, options);
  line.end();
  print_outcome(o, outcome);
  print_resume(o, outcome);
  return outcome.failed() > 0 ? ExitCode::findings : ExitCode::clean;
}

} // namespace

void add_tune(CLI::App& app, ExitCode& code) {
  auto o = std::make_shared<TuneCommand>();
  CLI::App* command =
      app.add_subcommand("tune", "certify, then time, every configuration for a list of problems");
  command->group("Tuning");
  command
      ->add_option("--problems", o->problems,
                   "cases, as a JSON array or one a line, each with an optional \"weight\"")
      ->required();
  command->add_option("--db", o->database, "database to write into; made if it is not there")->required();
  command->add_option("--budget", o->budget, "stop after so many seconds; the same command continues")
      ->check(finite_from_zero());
  command->add_option("--filter", o->filter, "only problems whose key matches this regular expression");
  command->add_option("--seed", o->seed, "of the order of launches on hardware");
  command->add_option("--shard", o->shard,
                      "I/N: this process's share of the problems; one database a shard, then `db merge`");
  command->add_flag("--dry-run", o->dry_run, "print problems and configurations, run nothing");
  command->add_flag("--json", o->json, "the outcome as JSON");
  command->footer(
      "example: echo '{\"heads\": 32, \"block_size\": 16, \"max_model_len\": 2048}' > p.jsonl\n"
      "         mqalab tune --problems p.jsonl --db lab.db --budget 60\n"
      "exit: 0 clean or stopped, 10 a configuration failed its gate, 2 bad input, 20 device or disk trouble");
  command->callback([o, &code] { code = with_advice("tune", [&] { return run_tune(*o); }); });
}

} // namespace mqalab
