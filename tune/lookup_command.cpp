// mqalab lookup: what production would be given for a problem, and why.  It asks the library, not the file.
#include "kernels/choose.hpp"
#include "tune/call.hpp"
#include "tune/commands.hpp"
#include "tune/problems.hpp"
#include "tune/space.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>

namespace mqalab {
namespace {

struct LookupCommand {
  std::string database, problem;
  bool json = false;
};

mqa_choice choice_for(const Case& c) {
  mqa_choice choice{};
  choice.struct_size = sizeof choice;
  if (choose(shape_call(resolve(c)), &choice) != MQA_OK)
    throw UsageError(fmt::format("the problem cannot be launched: {}", mqa_last_error()));
  return choice;
}

void print(const std::string& key, const mqa_choice& c) {
  fmt::print("problem  {}\nconfig   {}\nsource   {}\nrow      {}\nreason   {}\n", key, config_text(c.config),
             mqa_source_name(c.source), c.row_id < 0 ? "none" : std::to_string(c.row_id), c.reason);
}

void print_json(const std::string& key, const mqa_choice& c) {
  const nlohmann::json config = {{"variant", mqa_variant_name(c.config.variant)},
                                 {"chunk_k", c.config.chunk_k},
                                 {"split_kv", c.config.split_kv},
                                 {"wave_per_eu", c.config.wave_per_eu}};
  const nlohmann::json j = {{"problem", key},
                            {"config", config},
                            {"source", mqa_source_name(c.source)},
                            {"row", c.row_id},
                            {"reason", c.reason},
                            {"device", mqa_device_key()},
                            {"kernels", mqa_kernel_hash()},
                            {"digest", mqa::loaded_digest()}};
  fmt::print("{}\n", j.dump(2));
}

ExitCode lookup(const LookupCommand& o) {
  const Case problem = load_problems(o.problem).front().shape;
  if (mqa_load_database(o.database.c_str()) != MQA_OK)
    throw UsageError(fmt::format("--db: {}", mqa_last_error()));
  (o.json ? print_json : print)(problem_key_text(problem), choice_for(problem));
  return ExitCode::clean;
}

} // namespace

void add_lookup(CLI::App& app, ExitCode& code) {
  auto o = std::make_shared<LookupCommand>();
  CLI::App* command = app.add_subcommand("lookup", "what production would be given for a problem, and why");
  command->group("Tuning");
  command->add_option("--db", o->database, "published database; several separated by ':'")->required();
  command->add_option("--problem", o->problem, "case file (JSON); only shape and strides count")->required();
  command->add_flag("--json", o->json, "the answer as JSON");
  command->footer("example: mqalab lookup --db tuned.db --problem case.json\nexit: 0 answered (built-in "
                  "defaults included), 2 bad input");
  command->callback([o, &code] { code = with_advice("lookup", [&] { return lookup(*o); }); });
}

} // namespace mqalab
