// Content to and from tables.  Ids exist only in here: what goes in and comes out is natural keys.
#include "db/content_io.hpp"

#include "db/decide.hpp"

#include <cstdio>

namespace mqalab {
namespace {

constexpr const char* kTrials = R"sql(
  SELECT t.id, t.uuid, t.session, p.key, c.text, u.kernel_hash, t.status, t.origin, t.reason, t.at, d.key, d.simulated,
         e.host, e.driver, e.runtime, e.policy, t.is_default, t.seed
  FROM trial t JOIN problem p ON p.id = t.problem_id JOIN config c ON c.id = t.config_id
       JOIN device d ON d.id = t.device_id JOIN build u ON u.id = t.build_id JOIN environment e ON e.id = t.environment_id
  WHERE ?1 = '' OR p.key = ?1)sql";

constexpr const char* kCertificates = R"sql(
  SELECT p.key, c.text, u.kernel_hash, d.key, d.simulated, x.oracle_version, x.cases, x.edge_shapes, x.at
  FROM certificate x JOIN problem p ON p.id = x.problem_id JOIN config c ON c.id = x.config_id
       JOIN device d ON d.id = x.device_id JOIN build u ON u.id = x.build_id
  WHERE ?1 = '' OR p.key = ?1)sql";

constexpr const char* kBest = R"sql(
  SELECT p.key, u.kernel_hash, b.policy, d.key, d.simulated, c.text, b.origin, b.tie_set, b.trial_uuid, b.ratio,
         b.ratio_low, b.ratio_high, b.microseconds, b.default_microseconds
  FROM best b JOIN problem p ON p.id = b.problem_id JOIN config c ON c.id = b.config_id
       JOIN device d ON d.id = b.device_id JOIN build u ON u.id = b.build_id
  WHERE ?1 = '' OR p.key = ?1)sql";

void read_trials(Connection& db, const std::string& problem, Content& out) {
  Statement row(db, kTrials);
  Statement sample(db, "SELECT ordinal, round, microseconds FROM sample WHERE trial_id = ?");
  for (row.bind(problem); row.step();) {
    Trial t;
    t.session = row.text(2), t.problem = row.text(3), t.config = row.text(4), t.kernel_hash = row.text(5);
    t.status = row.text(6), t.origin = row.text(7), t.reason = row.text(8), t.at = row.text(9);
    t.device = {row.text(10), row.integer(11) != 0};
    t.environment = {row.text(12), row.text(13), row.text(14), row.text(15)};
    t.is_default = row.integer(16) != 0, t.seed = row.integer(17);
    for (sample.bind(row.integer(0)); sample.step();)
      t.samples[sample.integer(0)] = {sample.integer(0), sample.integer(1), sample.real(2)};
    out.trials.emplace(row.text(1), std::move(t));
  }
}

void read_subjects(Connection& db, const std::string& problem, Content& out) {
  Statement device(db, "SELECT key, simulated, compute_units, wave_size, lds_bytes FROM device");
  while (device.step())
    out.devices[{device.text(0), device.integer(1) != 0}] = {device.integer(2), device.integer(3),
                                                             device.integer(4)};
  Statement build(db, "SELECT kernel_hash, library, compiler, space_hash FROM build");
  while (build.step()) out.builds[build.text(0)] = {build.text(1), build.text(2), build.text(3)};
  Statement key(db, "SELECT key, weight FROM problem WHERE ?1 = '' OR key = ?1");
  for (key.bind(problem); key.step();) out.problems[key.text(0)] = key.real(1);
}

void read_verdicts(Connection& db, const std::string& problem, Content& out) {
  Statement x(db, kCertificates);
  for (x.bind(problem); x.step();)
    out.certificates[{x.text(0), x.text(1), x.text(2), {x.text(3), x.integer(4) != 0}}] = {
        x.integer(5), x.integer(6), x.text(7), x.text(8)};
  Statement q(db, "SELECT config, problem, device, kernel_hash, kind, evidence, replay, at FROM quarantine");
  while (q.step())
    out.quarantines[{q.text(0), q.text(1), q.text(2), q.text(3), q.text(4)}] = {q.text(5), q.text(6),
                                                                                q.text(7)};
  Statement h(db, "SELECT problem, device, kernel_hash, policy, at, config, reason FROM history WHERE ?1 = "
                  "'' OR problem = ?1");
  for (h.bind(problem); h.step();)
    out.history.insert({h.text(0), h.text(1), h.text(2), h.text(3), h.text(4), h.text(5), h.text(6)});
}

void read_best(Connection& db, const std::string& problem, Content& out) {
  Statement b(db, kBest);
  for (b.bind(problem); b.step();) {
    Best best;
    best.config = b.text(5), best.origin = b.text(6), best.tie_set = b.text(7), best.trial_uuid = b.text(8);
    best.ratio = b.real(9), best.ratio_low = b.real(10), best.ratio_high = b.real(11);
    best.microseconds = b.real(12), best.default_microseconds = b.real(13);
    out.best[{b.text(0), b.text(1), b.text(2), {b.text(3), b.integer(4) != 0}}] = best;
  }
}

int64_t find_row(Connection& db, const char* sql, const std::string& key, int64_t flag = 0) {
  Statement row(db, sql);
  row.bind(key, flag);
  if (!row.step()) throw DatabaseError(db.path() + ": '" + key + "' is used but not described in the file");
  return row.integer(0);
}

struct Ids {
  int64_t problem, config, device, build;
};
Ids ids_of(Connection& db, const std::string& problem, const std::string& config, const DeviceId& device,
           const std::string& kernel_hash) {
  return {
      find_row(db, "SELECT id FROM problem WHERE key = ?1 AND ?2 = 0", problem), config_row(db, config),
      find_row(db, "SELECT id FROM device WHERE key = ?1 AND simulated = ?2", device.key, device.simulated),
      find_row(db, "SELECT id FROM build WHERE kernel_hash = ?1 AND ?2 = 0", kernel_hash)};
}

int64_t environment_row(Connection& db, const Environment& e) {
  Statement(db, "INSERT OR IGNORE INTO environment (host, driver, runtime, policy) VALUES (?, ?, ?, ?)")
      .run(e.host, e.driver, e.runtime, e.policy);
  Statement row(db,
                "SELECT id FROM environment WHERE host = ? AND driver = ? AND runtime = ? AND policy = ?");
  row.bind(e.host, e.driver, e.runtime, e.policy).step();
  return row.integer(0);
}

} // namespace

Content read_content(Connection& db, const std::string& problem) {
  Content content;
  content.generation = db.scalar("SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'generation'");
  read_subjects(db, problem, content);
  read_trials(db, problem, content);
  read_verdicts(db, problem, content);
  read_best(db, problem, content);
  return content;
}

int64_t device_row(Connection& db, const DeviceId& id, const Device& d) {
  Statement(db, "INSERT OR IGNORE INTO device (key, simulated, compute_units, wave_size, lds_bytes) VALUES "
                "(?, ?, ?, ?, ?)")
      .run(id.key, int{id.simulated}, d.compute_units, d.wave_size, d.lds_bytes);
  return find_row(db, "SELECT id FROM device WHERE key = ?1 AND simulated = ?2", id.key, id.simulated);
}

int64_t build_row(Connection& db, const std::string& kernel_hash, const Build& b) {
  Statement(db,
            "INSERT OR IGNORE INTO build (kernel_hash, library, compiler, space_hash) VALUES (?, ?, ?, ?)")
      .run(kernel_hash, b.library, b.compiler, b.space_hash);
  return find_row(db, "SELECT id FROM build WHERE kernel_hash = ?1 AND ?2 = 0", kernel_hash);
}

int64_t problem_row(Connection& db, const std::string& key, double weight) {
  int batch = 0, columns = 0, next_n = 0, heads = 0, head_dim = 0, block_size = 0;
  std::sscanf(key.c_str(), "%*[^/]/%*[^/]/b%9d/mml%9d/n%9d/h%9d/d%9d/bs%9d", &batch, &columns, &next_n,
              &heads, &head_dim, &block_size);
  Statement(db,
            R"sql(INSERT INTO problem (key, batch, max_model_len, next_n, heads, head_dim, block_size, weight)
                      VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET weight = excluded.weight)sql")
      .run(key, batch, columns, next_n, heads, head_dim, block_size, weight);
  return find_row(db, "SELECT id FROM problem WHERE key = ?1 AND ?2 = 0", key);
}

int64_t config_row(Connection& db, const std::string& text) {
  const size_t begin = text.find('=') + 1, end = text.find(',');
  Statement(
      db,
      "INSERT OR IGNORE INTO config (text, variant, chunk_k, split_kv, wave_per_eu) VALUES (?, ?, ?, ?, ?)")
      .run(text, text.substr(begin, end - begin), config_field(text, "chunk_k"),
           config_field(text, "split_kv"), config_field(text, "wave_per_eu"));
  return find_row(db, "SELECT id FROM config WHERE text = ?1 AND ?2 = 0", text);
}

void write_trial(Connection& db, const std::string& uuid, const Trial& t) {
  const Ids id = ids_of(db, t.problem, t.config, t.device, t.kernel_hash);
  Statement(
      db,
      R"sql(INSERT OR IGNORE INTO trial (uuid, session, problem_id, config_id, device_id, build_id, environment_id,
                        status, origin, is_default, seed, reason, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?))sql")
      .run(uuid, t.session, id.problem, id.config, id.device, id.build, environment_row(db, t.environment),
           t.status, t.origin, int{t.is_default}, t.seed, t.reason, t.at);
  const int64_t trial = find_row(db, "SELECT id FROM trial WHERE uuid = ?1 AND ?2 = 0", uuid);
  Statement sample(
      db, "INSERT OR IGNORE INTO sample (trial_id, ordinal, round, microseconds) VALUES (?, ?, ?, ?)");
  for (const auto& [ordinal, s] : t.samples) sample.run(trial, ordinal, s.round, s.microseconds);
}

void write_certificate(Connection& db, const CertificateKey& k, const Certificate& c) {
  const Ids id = ids_of(db, k.problem, k.config, k.device, k.kernel_hash);
  Statement(db, "INSERT OR REPLACE INTO certificate VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
      .run(id.problem, id.config, id.device, id.build, c.oracle_version, c.cases, c.edge_shapes, c.at);
}

void write_quarantine(Connection& db, const QuarantineKey& k, const Quarantine& q) {
  Statement(db, "INSERT OR REPLACE INTO quarantine VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
      .run(k.config, k.problem, k.device, k.kernel_hash, k.kind, q.evidence, q.replay, q.at);
}

void write_best(Connection& db, const BestKey& k, const Best& b) {
  const Ids id = ids_of(db, k.problem, b.config, k.device, k.kernel_hash);
  Statement(
      db,
      R"sql(INSERT INTO best (problem_id, device_id, build_id, policy, config_id, origin, ratio, ratio_low, ratio_high,
                        microseconds, default_microseconds, tie_set, trial_uuid) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?))sql")
      .run(id.problem, id.device, id.build, k.policy, id.config, b.origin, b.ratio, b.ratio_low, b.ratio_high,
           b.microseconds, b.default_microseconds, b.tie_set, b.trial_uuid);
}

void write_history(Connection& db, const HistoryEntry& h) {
  Statement(db, "INSERT OR IGNORE INTO history VALUES (?, ?, ?, ?, ?, ?, ?)")
      .run(h.problem, h.device, h.kernel_hash, h.policy, h.at, h.config, h.reason);
}

void write_content(Connection& db, const Content& c) {
  for (const char* table : {"sample", "trial", "best", "certificate", "quarantine", "history", "config",
                            "problem", "environment", "build", "device"})
    db.exec((std::string("DELETE FROM ") + table).c_str());
  Statement(db, "INSERT OR REPLACE INTO meta VALUES ('generation', ?)").run(std::to_string(c.generation));
  for (const auto& [id, device] : c.devices) device_row(db, id, device);
  for (const auto& [hash, build] : c.builds) build_row(db, hash, build);
  for (const auto& [key, weight] : c.problems) problem_row(db, key, weight);
  for (const auto& [uuid, trial] : c.trials) write_trial(db, uuid, trial);
  for (const auto& [key, certificate] : c.certificates) write_certificate(db, key, certificate);
  for (const auto& [key, quarantine] : c.quarantines) write_quarantine(db, key, quarantine);
  for (const auto& [key, best] : c.best) write_best(db, key, best);
  for (const HistoryEntry& entry : c.history) write_history(db, entry);
}

} // namespace mqalab
