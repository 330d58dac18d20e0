-- The tuning database: what was tried, what it cost, what is certified, what is served.  SQLite is the authoring and the
-- serving format.  Natural keys are unique, ids are local to a file and never leave it: merge, export and the library
-- compare by natural key.  Odd: `quarantine` names its subjects by text, because it may outlive or precede them.
PRAGMA application_id = 0x4d514144;  -- "MQAD"
PRAGMA user_version = 1;

-- schema, key_version, generation, created, tool; in a published file also digest.
CREATE TABLE meta (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- key is mqa_device_key(); a simulated device has the key of the hardware that it stands for, hence the second column.
CREATE TABLE device (
  id            INTEGER PRIMARY KEY,
  key           TEXT    NOT NULL,
  simulated     INTEGER NOT NULL CHECK (simulated IN (0, 1)),
  compute_units INTEGER NOT NULL,
  wave_size     INTEGER NOT NULL,
  lds_bytes     INTEGER NOT NULL,
  UNIQUE (key, simulated)
) STRICT;

CREATE TABLE build (
  id          INTEGER PRIMARY KEY,
  kernel_hash TEXT NOT NULL UNIQUE,  -- mqa_kernel_hash()
  library     TEXT NOT NULL,
  compiler    TEXT NOT NULL,
  space_hash  TEXT NOT NULL          -- of the configuration space: equal space, other kernels = usable as a seed
) STRICT;

CREATE TABLE environment (
  id      INTEGER PRIMARY KEY,
  host    TEXT NOT NULL,
  driver  TEXT NOT NULL,
  runtime TEXT NOT NULL,
  policy  TEXT NOT NULL CHECK (policy IN ('cold', 'hot', 'model')),
  UNIQUE (host, driver, runtime, policy)
) STRICT;

-- key is to_string(problem_key(...)), a bucket; the columns repeat it for people.
CREATE TABLE problem (
  id            INTEGER PRIMARY KEY,
  key           TEXT    NOT NULL UNIQUE,
  batch         INTEGER NOT NULL,
  max_model_len INTEGER NOT NULL,
  next_n        INTEGER NOT NULL,
  heads         INTEGER NOT NULL,
  head_dim      INTEGER NOT NULL,
  block_size    INTEGER NOT NULL,
  weight        REAL    NOT NULL CHECK (weight > 0)
) STRICT;

-- text is canonical: variant=staged,chunk_k=256,split_kv=0,wave_per_eu=2; split_kv 0 is automatic.
CREATE TABLE config (
  id          INTEGER PRIMARY KEY,
  text        TEXT    NOT NULL UNIQUE,
  variant     TEXT    NOT NULL,
  chunk_k     INTEGER NOT NULL,
  split_kv    INTEGER NOT NULL,
  wave_per_eu INTEGER NOT NULL
) STRICT;

-- One configuration tried on one problem.  Rounds of one session were interleaved, so their times are comparable.
CREATE TABLE trial (
  id             INTEGER PRIMARY KEY,
  uuid           TEXT    NOT NULL UNIQUE,
  session        TEXT    NOT NULL,
  problem_id     INTEGER NOT NULL REFERENCES problem,
  config_id      INTEGER NOT NULL REFERENCES config,
  device_id      INTEGER NOT NULL REFERENCES device,
  build_id       INTEGER NOT NULL REFERENCES build,
  environment_id INTEGER NOT NULL REFERENCES environment,
  status         TEXT    NOT NULL CHECK (status IN ('ok', 'invalid', 'launch_failed', 'timeout', 'fault', 'wrong_result',
                                                    'nondeterministic', 'over_budget', 'skipped')),
  origin         TEXT    NOT NULL CHECK (origin IN ('measured', 'modelled')),
  is_default     INTEGER NOT NULL CHECK (is_default IN (0, 1)),
  seed           INTEGER NOT NULL,
  reason         TEXT    NOT NULL,  -- the evidence of a failure, or what bounds the cost
  at             TEXT    NOT NULL
) STRICT;
CREATE INDEX trial_by_problem ON trial (problem_id, device_id, build_id);

CREATE TABLE sample (
  trial_id     INTEGER NOT NULL REFERENCES trial,
  ordinal      INTEGER NOT NULL,  -- counts up within a trial, over all rounds
  round        INTEGER NOT NULL,
  microseconds REAL    NOT NULL CHECK (microseconds > 0),
  PRIMARY KEY (trial_id, ordinal)
) STRICT, WITHOUT ROWID;

-- Recomputed from samples, certificates and quarantines; never copied from another file.
CREATE TABLE best (
  id           INTEGER PRIMARY KEY,
  problem_id   INTEGER NOT NULL REFERENCES problem,
  device_id    INTEGER NOT NULL REFERENCES device,
  build_id     INTEGER NOT NULL REFERENCES build,
  policy       TEXT    NOT NULL CHECK (policy IN ('cold', 'hot', 'model')),
  config_id    INTEGER NOT NULL REFERENCES config,
  origin       TEXT    NOT NULL CHECK (origin IN ('measured', 'modelled')),
  ratio        REAL    NOT NULL,  -- its time / the default's, median over rounds
  ratio_low    REAL    NOT NULL,
  ratio_high   REAL    NOT NULL,
  microseconds REAL    NOT NULL,
  default_microseconds REAL NOT NULL,
  tie_set      TEXT    NOT NULL,  -- configurations within noise of the fastest, space-separated
  trial_uuid   TEXT    NOT NULL,
  UNIQUE (problem_id, device_id, build_id, policy)
) STRICT;

-- The configuration passed the oracle on this device with these kernels at the bucket's edge shapes.
CREATE TABLE certificate (
  problem_id     INTEGER NOT NULL REFERENCES problem,
  config_id      INTEGER NOT NULL REFERENCES config,
  device_id      INTEGER NOT NULL REFERENCES device,
  build_id       INTEGER NOT NULL REFERENCES build,
  oracle_version INTEGER NOT NULL,
  cases          INTEGER NOT NULL CHECK (cases > 0),
  edge_shapes    TEXT    NOT NULL,
  at             TEXT    NOT NULL,
  PRIMARY KEY (problem_id, config_id, device_id, build_id)
) STRICT, WITHOUT ROWID;

-- Empty problem, device or kernel_hash: every one.  Beats any speed.
CREATE TABLE quarantine (
  config      TEXT NOT NULL,
  problem     TEXT NOT NULL,
  device      TEXT NOT NULL,
  kernel_hash TEXT NOT NULL,
  kind        TEXT NOT NULL,
  evidence    TEXT NOT NULL,
  replay      TEXT NOT NULL,
  at          TEXT NOT NULL,
  PRIMARY KEY (config, problem, device, kernel_hash, kind)
) STRICT, WITHOUT ROWID;

-- "About to run": a row that is still here when a writer opens the file names what killed its predecessor.
CREATE TABLE journal (
  problem  TEXT    NOT NULL,
  config   TEXT    NOT NULL,
  shard    TEXT    NOT NULL,
  attempts INTEGER NOT NULL,
  at       TEXT    NOT NULL,
  PRIMARY KEY (problem, config)
) STRICT, WITHOUT ROWID;

CREATE TABLE history (
  problem     TEXT NOT NULL,
  device      TEXT NOT NULL,
  kernel_hash TEXT NOT NULL,
  policy      TEXT NOT NULL,
  at          TEXT NOT NULL,
  config      TEXT NOT NULL,
  reason      TEXT NOT NULL,
  PRIMARY KEY (problem, device, kernel_hash, policy, at, config)
) STRICT, WITHOUT ROWID;
