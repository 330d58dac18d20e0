// What the subcommands share: the frame round them, and options that several take.
#include "fuzz/case_names.hpp"
#include "fuzz/commands.hpp"
#include "fuzz/nearest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace mqalab {
namespace {

// "field is X; allowed: Y; try: Z" reads better as three lines.
std::string in_lines(std::string text) {
  const auto split = [&](std::string_view at, std::string_view with) {
    if (const size_t i = text.find(at); i != std::string::npos) text.replace(i, at.size(), with);
  };
  split("; allowed: ", "\n  allowed: ");
  split("; try: ", "\n  try:     ");
  return text;
}

std::string command_name(const CLI::App& app) {
  const auto used = app.get_subcommands();
  return used.empty() ? "mqalab" : "mqalab " + used.front()->get_name();
}

int complain(const CLI::App& app, const std::string& what, ExitCode code) {
  fmt::print(stderr, "{}: {}\n", command_name(app), in_lines(what));
  return static_cast<int>(code);
}

// Help and version are not errors; the parser's own codes are not ours.
int after_parse_error(const CLI::App& app, const CLI::ParseError& e) {
  if (e.get_exit_code() == 0) return app.exit(e);
  return complain(app, fmt::format("{}; try: {} --help", e.what(), command_name(app)), ExitCode::bad_input);
}

// The parser only says that a subcommand is missing; say which word was none.
void refuse_unknown_command(const CLI::App& app, int argc, const char* const* argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  if (std::find(names.begin(), names.end(), argv[1]) != names.end()) return;
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string_view hint = nearest(argv[1], known);
  throw UsageError(fmt::format("{} is no command; allowed: {}; try: mqalab {}", argv[1], listed(known),
                               hint.empty() ? "--help" : hint));
}

struct ConfigField {
  std::string_view name;
  int32_t mqa_config::* member;
};
constexpr std::array<ConfigField, 4> kConfigFields{{{"variant", &mqa_config::variant},
                                                    {"chunk_k", &mqa_config::chunk_k},
                                                    {"split_kv", &mqa_config::split_kv},
                                                    {"wave_per_eu", &mqa_config::wave_per_eu}}};
constexpr std::array<std::string_view, 4> kConfigNames{"variant", "chunk_k", "split_kv", "wave_per_eu"};

int32_t config_value(std::string_view name, std::string_view text) {
  if (name == "variant")
    if (const auto found = std::find(kVariantNames.begin(), kVariantNames.end(), text);
        found != kVariantNames.end())
      return static_cast<int32_t>(found - kVariantNames.begin());
  int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (name == "variant" || error != std::errc{} || end != text.data() + text.size())
    throw UsageError(fmt::format("--config: {} is \"{}\"; allowed: {}", name, text,
                                 name == "variant" ? listed(kVariantNames) : "an integer, 0 for automatic"));
  return value;
}

} // namespace

int run_command_line(int argc, const char* const* argv,
                     const std::function<void(CLI::App&, ExitCode&)>& add) {
  CLI::App app("A fuzzing and tuning lab for FP8 paged MQA logits kernels.  First step, no GPU needed:\n"
               "  echo '{}' > smallest.json && mqalab check smallest.json",
               "mqalab");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string(mqa_version()) + " kernels " + mqa_kernel_hash());
  app.footer(
      "exit: 0 clean, 2 bad usage or input, 10 findings, 20 machine degraded, 30 gate failed, 1 our own bug");
  ExitCode code = ExitCode::clean;
  add(app, code);
  try {
    refuse_unknown_command(app, argc, argv);
    app.parse(argc, argv);
    return static_cast<int>(code);
  } catch (const CLI::ParseError& e) {
    return after_parse_error(app, e);
  } catch (const CaseError& e) {
    return complain(app, e.what(), ExitCode::bad_input);
  } catch (const UsageError& e) {
    return complain(app, e.what(), ExitCode::bad_input);
  } catch (const std::exception& e) {
    return complain(app, std::string("our own bug, please report it: ") + e.what(), ExitCode::our_bug);
  }
}

const Fault* fault_named(const std::string& name) {
  if (name.empty()) return nullptr;
  if (const Fault* fault = find_fault(name)) return fault;
  std::vector<std::string_view> names;
  for (const Fault& f : faults()) names.push_back(f.name);
  std::sort(names.begin(), names.end(),
            [&](auto a, auto b) { return edit_distance(name, a) < edit_distance(name, b); });
  names.resize(std::min<size_t>(names.size(), 3));
  throw UsageError(
      fmt::format("--fault: {} is no planted fault; allowed: a name that `mqalab faults` lists; try: {}",
                  name, listed(names)));
}

void apply_config(mqa_config& config, const std::string& text) {
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    const std::string_view name = item.substr(0, item.find('='));
    const auto field =
        std::find_if(kConfigFields.begin(), kConfigFields.end(), [&](auto& f) { return f.name == name; });
    if (item.size() == name.size() || field == kConfigFields.end())
      throw UsageError(fmt::format(
          "--config: \"{}\" is no setting; allowed: {}, each as name=value; try: chunk_k=128,split_kv=2",
          item, listed(kConfigNames)));
    config.*field->member = config_value(name, item.substr(name.size() + 1));
  }
}

Case legal_case(const std::string& path, const std::string& config) {
  Case c = load_case(path);
  apply_config(c.config, config);
  if (const auto why = why_unjudgeable(c); !why.empty()) throw CaseError(fmt::format("{}: {}", path, why));
  return c;
}

std::string config_text(const mqa_config& c) {
  return fmt::format("variant={},chunk_k={},split_kv={},wave_per_eu={}",
                     name_of(static_cast<mqa_variant>(c.variant)), c.chunk_k, c.split_kv, c.wave_per_eu);
}

namespace {
CLI::Validator finite(bool zero) {
  return CLI::Validator(
      [zero](std::string& text) -> std::string {
        char* end = nullptr;
        const double value = std::strtod(text.c_str(), &end);
        const bool fits = end && !*end && std::isfinite(value) && (zero ? value >= 0 : value > 0);
        return fits ? "" : fmt::format("{}; allowed: a number {} 0", text, zero ? "from" : "above");
      },
      "NUMBER");
}
} // namespace

CLI::Validator finite_above_zero() { return finite(false); }
CLI::Validator finite_from_zero() { return finite(true); }

} // namespace mqalab
