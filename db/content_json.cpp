// The export format: one JSON object, natural keys only, so that it diffs well and a merge of imports is a
// merge of files.
#include "db/content_io.hpp"

#include <nlohmann/json.hpp>

namespace mqalab {

using json = nlohmann::json;

// One list of fields a type, used in both directions.
#define MQALAB_FIELDS NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE
MQALAB_FIELDS(DeviceId, key, simulated)
MQALAB_FIELDS(Device, compute_units, wave_size, lds_bytes)
MQALAB_FIELDS(Build, library, compiler, space_hash)
MQALAB_FIELDS(Environment, host, driver, runtime, policy)
MQALAB_FIELDS(CertificateKey, problem, config, kernel_hash, device)
MQALAB_FIELDS(Certificate, oracle_version, cases, edge_shapes, at)
MQALAB_FIELDS(QuarantineKey, config, problem, device, kernel_hash, kind)
MQALAB_FIELDS(Quarantine, evidence, replay, at)
MQALAB_FIELDS(HistoryEntry, problem, device, kernel_hash, policy, at, config, reason)
MQALAB_FIELDS(BestKey, problem, kernel_hash, policy, device)
MQALAB_FIELDS(Best, config, origin, tie_set, trial_uuid, ratio, ratio_low, ratio_high, microseconds,
              default_microseconds)

// A sample is [ordinal, round, microseconds].
void to_json(json& j, const Sample& s) { j = json::array({s.ordinal, s.round, s.microseconds}); }
void from_json(const json& j, Sample& s) {
  j.at(0).get_to(s.ordinal), j.at(1).get_to(s.round), j.at(2).get_to(s.microseconds);
}

void to_json(json& j, const Trial& t) {
  j = {{"session", t.session},       {"problem", t.problem},
       {"config", t.config},         {"kernel_hash", t.kernel_hash},
       {"status", t.status},         {"origin", t.origin},
       {"reason", t.reason},         {"at", t.at},
       {"device", t.device},         {"seed", t.seed},
       {"is_default", t.is_default}, {"environment", t.environment}};
  j["samples"] = json::array();
  for (const auto& [ordinal, sample] : t.samples) j["samples"].push_back(sample);
}
void from_json(const json& j, Trial& t) {
  j.at("session").get_to(t.session), j.at("problem").get_to(t.problem), j.at("config").get_to(t.config);
  j.at("kernel_hash").get_to(t.kernel_hash), j.at("status").get_to(t.status), j.at("origin").get_to(t.origin);
  j.at("reason").get_to(t.reason), j.at("at").get_to(t.at), j.at("device").get_to(t.device),
      j.at("seed").get_to(t.seed);
  j.at("is_default").get_to(t.is_default), j.at("environment").get_to(t.environment);
  for (const json& entry : j.at("samples")) {
    const auto sample = entry.get<Sample>();
    t.samples[sample.ordinal] = sample;
  }
}

namespace {

// Pairs of (key, value) as objects with the fields of both: {"key": ..., ...}.
template <class Key, class Value> json pairs(const std::map<Key, Value>& map) {
  json list = json::array();
  for (const auto& [key, value] : map) list.push_back({{"key", key}, {"value", value}});
  return list;
}
template <class Key, class Value> void read_pairs(const json& list, std::map<Key, Value>& map) {
  for (const json& entry : list) map[entry.at("key").get<Key>()] = entry.at("value").get<Value>();
}

constexpr const char* kFormat = "mqalab-database-1";

Content parse(const json& j) {
  if (j.at("format") != kFormat) throw DatabaseError("its format is not " + std::string(kFormat));
  Content c;
  j.at("generation").get_to(c.generation);
  read_pairs(j.at("devices"), c.devices);
  read_pairs(j.at("builds"), c.builds);
  read_pairs(j.at("problems"), c.problems);
  read_pairs(j.at("trials"), c.trials);
  read_pairs(j.at("certificates"), c.certificates);
  read_pairs(j.at("quarantines"), c.quarantines);
  read_pairs(j.at("best"), c.best);
  for (const json& entry : j.at("history")) c.history.insert(entry.get<HistoryEntry>());
  return c;
}

} // namespace

std::string to_json(const Content& c) {
  json j = {{"format", kFormat}, {"generation", c.generation}};
  j["devices"] = pairs(c.devices), j["builds"] = pairs(c.builds), j["problems"] = pairs(c.problems);
  j["trials"] = pairs(c.trials), j["certificates"] = pairs(c.certificates),
  j["quarantines"] = pairs(c.quarantines);
  j["best"] = pairs(c.best), j["history"] = c.history;
  return j.dump(1) + "\n";
}

Content content_from_json(const std::string& text, const std::string& origin) try {
  return parse(json::parse(text));
} catch (const json::exception& e) {
  throw DatabaseError(origin + ": not an export of `mqalab db export`: " + e.what());
} catch (const DatabaseError& e) {
  throw DatabaseError(origin + ": not an export of `mqalab db export`: " + e.what());
}

} // namespace mqalab
