// mqalab db: init, info, verify, merge, publish, export, import, quarantine, diff.
#include "db/content_io.hpp"
#include "db/publish.hpp"
#include "db/store.hpp"
#include "kernels/database.hpp"
#include "tune/commands.hpp"
#include "tune/db_report.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>

namespace mqalab {
namespace {

struct DbCommand {
  std::string path, other, output;
  std::vector<std::string> inputs;
  QuarantineKey quarantine;
  std::string evidence;
  bool json = false;
};

Content content_of(const std::string& path) { return Store::open(path, Access::read).content(); }

ExitCode init(const DbCommand& o) {
  Store::create(o.path);
  fmt::print("{}: an empty tuning database\n", o.path);
  return ExitCode::clean;
}

ExitCode info(const DbCommand& o) {
  const Content content = content_of(o.path);
  fmt::print("{}", o.json ? info_json(content, o.path) : info_text(content, o.path));
  return ExitCode::clean;
}

// The tool's checks, the library's, and that `best` is what the samples say.
ExitCode verify(const DbCommand& o) {
  Store store = Store::open(o.path, Access::read);
  const Content content = store.content();
  std::string why;
  const auto file = mqa::read_database(o.path, &why);
  if (!file) throw DatabaseError("the library cannot read it: " + why);
  if (file->rejected > 0)
    throw DatabaseError(
        fmt::format("{}: the library cannot use {} rows; first: {}\n  try:     tune again with this build",
                    o.path, file->rejected, file->first_rejection));
  Content derived = content;
  recompute_best(derived);
  if (!content.trials.empty() && derived.best != content.best)
    throw DatabaseError(o.path + ": its best rows are not what its samples say\n  try:     `mqalab db "
                                 "publish`, which recomputes them");
  fmt::print("{}: whole; {} rows to serve{}\n", o.path, file->rows.size(),
             file->digest.empty() ? "; not published" : ", digest " + file->digest);
  return ExitCode::clean;
}

ExitCode merge(const DbCommand& o) {
  std::vector<Content> contents;
  for (const std::string& input : o.inputs) contents.push_back(content_of(input));
  Store out = Store::open_or_create(o.path);
  Content all = out.content();
  for (const Content& content : contents) {
    for (const std::string& line : conflicts(all, content)) fmt::print(stderr, "mqalab db merge: {}\n", line);
    all = merged(all, content);
  }
  out.replace(all);
  fmt::print("{}: {} trials, {} best rows, {} quarantines\n", o.path, all.trials.size(), all.best.size(),
             all.quarantines.size());
  return ExitCode::clean;
}

ExitCode publish_command(const DbCommand& o) {
  const Publication p = publish(o.path, o.other);
  fmt::print("{}: generation {}, {} rows, {} quarantines, digest {}\n", o.other, p.generation, p.rows,
             p.quarantines, p.digest);
  if (p.rows == 0)
    fmt::print(stderr, "mqalab db publish: nothing is certified in {}; launches will get built-in defaults\n",
               o.path);
  return ExitCode::clean;
}

ExitCode export_command(const DbCommand& o) {
  const std::string text = to_json(content_of(o.path));
  if (o.output.empty()) return fmt::print("{}", text), ExitCode::clean;
  std::ofstream file(o.output, std::ios::trunc);
  file << text << std::flush;
  if (!file) throw DatabaseError(o.output + ": cannot be written\n  try:     another place");
  return ExitCode::clean;
}

ExitCode import_command(const DbCommand& o) {
  std::ifstream file(o.other);
  std::stringstream text;
  text << file.rdbuf();
  if (!file)
    throw DatabaseError(o.other + ": cannot be read\n  try:     a file that `mqalab db export` wrote");
  const Content content = content_from_json(text.str(), o.other);
  Store out = Store::open_or_create(o.path);
  out.replace(merged(out.content(), content));
  return ExitCode::clean;
}

ExitCode quarantine(const DbCommand& o) {
  if (o.quarantine.config.empty()) {
    fmt::print("{}", quarantine_text(content_of(o.path)));
    return ExitCode::clean;
  }
  mqa_config config{};
  apply_config(config, o.quarantine.config);
  if (o.evidence.empty())
    throw UsageError(
        "--evidence is missing; allowed: a sentence that says what went wrong; try: --evidence 'finding 17'");
  QuarantineKey key = o.quarantine;
  key.config = config_text(config);
  Store store = Store::open(o.path, Access::write);
  store.quarantine(key, {o.evidence, "", now_utc()});
  store.refresh_best("");
  fmt::print("{} is quarantined in {}; publish to put it into force\n", key.config, o.path);
  return ExitCode::clean;
}

ExitCode diff(const DbCommand& o) {
  const std::string text = diff_text(content_of(o.path), content_of(o.other));
  fmt::print("{}", text.empty() ? "no difference in what is served\n" : text);
  return ExitCode::clean;
}

using Action = ExitCode (*)(const DbCommand&);
CLI::App* add(CLI::App& db, const char* name, const char* help, Action action,
              const std::shared_ptr<DbCommand>& o, ExitCode& code) {
  CLI::App* command = db.add_subcommand(name, help);
  command->add_option("DB", o->path, "database file")->required();
  command->callback(
      [=, &code] { code = with_advice((std::string("db ") + name).c_str(), [&] { return action(*o); }); });
  return command;
}

void add_quarantine_options(CLI::App& command, DbCommand& o) {
  command.add_option("--config", o.quarantine.config,
                     "what to quarantine, every field given: variant=staged,chunk_k=256,...");
  command.add_option("--problem", o.quarantine.problem, "only for this problem key");
  command.add_option("--device", o.quarantine.device, "only on this device key");
  command.add_option("--kernel-hash", o.quarantine.kernel_hash, "only for these kernels");
  command.add_option("--kind", o.quarantine.kind, "finding, manual, ...")->default_str("manual");
  command.add_option("--evidence", o.evidence, "what went wrong, one sentence");
}

} // namespace

void add_db(CLI::App& app, ExitCode& code) {
  auto o = std::make_shared<DbCommand>();
  o->quarantine.kind = "manual";
  CLI::App* db = app.add_subcommand("db", "the tuning database: make, look at, merge, publish");
  db->group("Tuning");
  db->require_subcommand(1);
  add(*db, "init", "make an empty database", init, o, code);
  add(*db, "info", "what is in it", info, o, code)->add_flag("--json", o->json, "as JSON");
  add(*db, "verify", "is it whole, and would the library serve it", verify, o, code);
  add(*db, "merge", "unite the inputs into DB", merge, o, code)
      ->add_option("INPUT", o->inputs, "databases to take in")
      ->required();
  add(*db, "publish", "write the file that production reads", publish_command, o, code)
      ->add_option("OUT", o->other, "published file")
      ->required();
  add(*db, "export", "as JSON", export_command, o, code)
      ->add_option("-o,--out", o->output, "file instead of stdout");
  add(*db, "import", "merge an export into DB", import_command, o, code)
      ->add_option("JSON", o->other, "export file")
      ->required();
  add_quarantine_options(*add(*db, "quarantine", "list, or with --config add", quarantine, o, code), *o);
  add(*db, "diff", "what OTHER would serve instead", diff, o, code)
      ->add_option("OTHER", o->other, "database to compare with")
      ->required();
  db->footer("example: mqalab db merge all.db shard1.db shard2.db && mqalab db publish all.db tuned.db\n"
             "exit: 0 clean, 2 bad input, a damaged or a foreign file included");
}

} // namespace mqalab
