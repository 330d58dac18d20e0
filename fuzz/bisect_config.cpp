// mqalab bisect --config: the configuration fields of a case that its failure needs.
#include "fuzz/bisect_report.hpp"
#include "fuzz/bisect_session.hpp"
#include "fuzz/case_names.hpp"
#include "fuzz/fields.hpp"

#include <fmt/format.h>

namespace mqalab {
namespace {

// The fields that a case sets; each is a switch, and off is automatic.
class ConfigSwitches {
public:
  explicit ConfigSwitches(const Case& c) : case_(c) {
    for (const Field& f : fields())
      if (f.group == FieldGroup::config && f.get(c) != f.smallest) fields_.push_back(&f);
  }
  size_t count() const { return fields_.size(); }
  // Its name is what --config takes.
  Subject with(const std::vector<bool>& on) const {
    Case c = case_;
    for (size_t i = 0; i < fields_.size(); ++i)
      if (!on[i]) fields_[i]->set(c, fields_[i]->smallest);
    const std::string text = config_text(c.config);
    return {text, text};
  }
  Subject all() const { return with(std::vector<bool>(count(), true)); }
  Subject none() const { return with(std::vector<bool>(count(), false)); }
  std::vector<ConfigReport::Field> shown() const {
    std::vector<ConfigReport::Field> all;
    for (const Field* f : fields_) {
      const std::string name(f->name.substr(f->name.find('.') + 1));
      const int64_t value = f->get(case_);
      all.push_back({name, name == "variant" ? std::string(name_of(static_cast<mqa_variant>(value)))
                                             : fmt::format("{}", value)});
    }
    return all;
  }

private:
  const Case& case_;
  std::vector<const Field*> fields_;
};

void require_one(const ConfigSwitches& switches, const std::string& path) {
  if (switches.count()) return;
  throw UsageError(fmt::format(
      "{}: sets no configuration field; allowed: a case that sets variant, chunk_k, split_kv or wave_per_eu; "
      "try: the case.json of mqalab run --inputs DIR, which sets what was chosen",
      path));
}

void search(const ConfigSwitches& switches, Interview& interview, Session& session, ConfigReport& report) {
  const auto ask = [&](const Subject& s) {
    const Answer answer = interview.ask(s);
    report.asked.push_back({s, answer, interview.why(s)});
    session.say(s, answer, report.asked.back().why);
    return answer;
  };
  interview.require_bad(switches.all(), "the case as it is,",
                        "a case that mqalab check exits 10 for, or --repeat N if its failure comes and goes");
  ask(switches.all());
  interview.require_good(switches.none(), "the case with an automatic configuration,",
                         "no bisection, as the failure needs none of the fields");
  ask(switches.none());
  report.result = needed_switches(switches.count(), [&](const std::vector<bool>& on) {
    const Subject s = switches.with(on);
    return s.name == switches.none().name ? Answer::good : ask(s);
  });
  report.failure = interview.failure(), report.runs = interview.runs();
}

} // namespace

ExitCode bisect_config(const BisectOptions& o) {
  if (fault_named(o.fault) && !o.lib.empty())
    throw UsageError("--lib is given with --fault; allowed: one of them, planted faults are in no library");
  Session session(o);
  const ConfigSwitches switches(session.start);
  require_one(switches, o.path);
  const std::string lib = o.lib.empty() ? "" : library_path(o.lib, "--lib");
  session.ask_for(
      {{"mode", "config"}, {"lib", lib}, {"digest", lib.empty() ? "" : digest_of(lib)}, {"fault", o.fault}});
  std::vector<std::string> check{this_program(), "check", session.case_path, "--json"};
  if (!lib.empty()) check.insert(check.end(), {"--lib", lib});
  if (!o.fault.empty()) check.insert(check.end(), {"--fault", o.fault});
  Interview interview = session.interview([&](const Subject& s) {
    std::vector<std::string> command = check;
    command.insert(command.end(), {"--config", s.name});
    return Prepared{command, lib, ""};
  });
  ConfigReport report;
  report.fields = switches.shown();
  search(switches, interview, session, report);
  session.print(json_of(report), text_of(report));
  return ExitCode::findings;
}

} // namespace mqalab
