#include "fuzz/finding.hpp"
#include "fuzz/disk.hpp"
#include "fuzz/found.hpp"
#include "fuzz/oracle.hpp"
#include "fuzz/repro_data.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>

namespace mqalab {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

uint32_t fnv(std::string_view text) {
  uint32_t hash = 2166136261u;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619u;
  return hash;
}

json verdict_json(const Finding& finding) {
  json all = json::parse(to_json(finding.verdict));
  all["law"] = finding.law.text;
  all["boundaries"] = json::array();
  for (const Boundary& b : finding.law.boundaries)
    all["boundaries"].push_back(
        {{"axis", b.axis}, {"last_passing", b.last_passing}, {"first_failing", b.first_failing}});
  all["fault"] = finding.fault;
  all["minimized"] = finding.minimized;
  all["seen"] = finding.seen;
  all["also"] = finding.also;
  all["record"] = to_hex(encode(finding.minimal));
  all["build"] = {
      {"version", mqa_version()}, {"kernel_hash", mqa_kernel_hash()}, {"device", mqa_device_key()}};
  return all;
}

std::string replay_script(const std::string& fault, const Signature& signature) {
  const OracleOptions options = options_for(signature);
  const bool named = options.relations == OracleOptions::Relations::named;
  return fmt::format(
      "#!/bin/sh\n# exit 10: still there; 0: gone.  MQALAB: the program, when it is not on the PATH.\n"
      "exec \"${{MQALAB:-mqalab}}\" check \"$(dirname \"$0\")/case.json\"{}{}\n",
      fault.empty() ? "" : " --fault " + fault, named ? " --relation " + relations_text(options) : "");
}

void make_executable(const fs::path& path) {
  fs::permissions(path, fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec,
                  fs::perm_options::add);
}

void write_programs(const fs::path& folder, const Finding& finding, const Policy& policy) {
  if (!why_illegal(finding.minimal).empty()) return; // nothing to generate; replay.sh shows it
  ReproData data = repro_data(finding.minimal, finding.verdict, policy);
  if (!finding.fault.empty())
    data.title +=
        fmt::format("  [planted fault {}: not in libmqa, which is expected to be right here; use replay.sh]",
                    finding.fault);
  write_whole(folder / "repro.cpp", repro_cpp(data));
  write_whole(folder / "repro.py", repro_py(data));
  make_executable(folder / "repro.py");
}

std::string word(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)))
      result += c;
    else if (!result.empty() && result.back() != '-')
      result += '-';
  }
  while (!result.empty() && result.back() == '-') result.pop_back();
  return result;
}

} // namespace

std::string finding_slug(const Signature& signature) {
  const std::string identity =
      fmt::format("{}/{}", name(signature.verdict), kind_of_pattern(signature.pattern));
  return fmt::format("{}-{:08x}", word(identity).substr(0, 48), fnv(identity));
}

void write_finding(const fs::path& folder, const Finding& finding, const Policy& policy) {
  const fs::path part = folder.string() + ".part";
  std::error_code ignored;
  fs::remove_all(part, ignored);
  try {
    fs::create_directories(part);
    write_whole(part / "case.json", to_json(finding.minimal) + "\n");
    write_whole(part / "original.json", to_json(finding.original) + "\n");
    write_whole(part / "verdict.json",
                verdict_json(finding).dump(2, ' ', false, json::error_handler_t::replace) + "\n");
    write_whole(part / "replay.sh", replay_script(finding.fault, finding.verdict.signature));
    make_executable(part / "replay.sh");
    write_programs(part, finding, policy);
    if (fs::exists(folder)) fs::rename(folder, part / "before"); // until the new one is in place
    fs::rename(part, folder);
    fs::remove_all(folder / "before", ignored);
  } catch (const fs::filesystem_error& error) {
    throw DiskError(
        fmt::format("{}: {}; everything found so far is kept", folder.string(), error.code().message()));
  }
}

StoredFinding read_finding(const fs::path& folder) {
  StoredFinding stored;
  stored.folder = folder;
  stored.minimal = load_case((folder / "case.json").string());
  const json verdict = json::parse(read_whole(folder / "verdict.json"), nullptr, false);
  if (!verdict.is_object() || !verdict.contains("record"))
    throw CaseError(fmt::format("{}: verdict.json is missing or damaged; allowed: the folder of a finding, "
                                "as `mqalab fuzz` writes it "
                                "below findings/",
                                folder.string()));
  const json line{{"record", verdict.value("record", "")},
                  {"verdict", verdict.value("verdict", "")},
                  {"pattern", verdict.value("/signature/pattern"_json_pointer, "")},
                  {"region", verdict.value("/signature/region"_json_pointer, "")},
                  {"configuration", verdict.value("/signature/configuration"_json_pointer, "")},
                  {"message", verdict.value("message", "")}};
  if (const auto found = from_line(line.dump())) stored.signature = found->signature;
  stored.message = verdict.value("message", "");
  stored.fault = verdict.value("fault", "");
  stored.law = verdict.value("law", "");
  stored.minimized = verdict.value("minimized", "");
  stored.also = verdict.value("also", std::vector<std::string>{});
  stored.seen = verdict.value("seen", int64_t{1});
  return stored;
}

std::vector<StoredFinding> read_findings(const fs::path& campaign) {
  std::vector<StoredFinding> all;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(campaign / "findings", error))
    if (entry.is_directory() && entry.path().extension() != ".part" && fs::exists(entry.path() / "case.json"))
      all.push_back(read_finding(entry.path()));
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.folder < b.folder; });
  return all;
}

} // namespace mqalab
