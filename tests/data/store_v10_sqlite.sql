CREATE TABLE schema_version (
  application TEXT NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (application)
);

CREATE TABLE runs (
  id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
  name TEXT,
  model TEXT NOT NULL,
  parameters TEXT,
  seed TEXT,
  versions TEXT,
  started TEXT NOT NULL,
  state TEXT NOT NULL,
  parent INTEGER,
  parent_step DOUBLE
);

CREATE TABLE agents (
  run INTEGER NOT NULL,
  agent TEXT NOT NULL,
  unique_id TEXT,
  class TEXT,
  memory TEXT,
  layers TEXT,
  name TEXT,
  PRIMARY KEY (run, agent)
);

CREATE TABLE records (
  run INTEGER NOT NULL,
  seq BIGINT NOT NULL,
  id TEXT NOT NULL,
  agent TEXT NOT NULL,
  layer TEXT NOT NULL,
  kind TEXT NOT NULL,
  step DOUBLE NOT NULL,
  text TEXT,
  content TEXT,
  importance DOUBLE,
  subject TEXT,
  sources TEXT,
  valid_from DOUBLE NOT NULL,
  valid_to DOUBLE,
  closed_because TEXT,
  superseded_by TEXT,
  embedding BLOB,
  embedder TEXT,
  graded_at DOUBLE,
  origin TEXT,
  stale_since DOUBLE,
  PRIMARY KEY (run, id)
);

CREATE INDEX records_by_agent ON records (run, agent, seq);

CREATE INDEX records_by_successor ON records (run, superseded_by) WHERE superseded_by IS NOT NULL;

CREATE TABLE recalls (
  run INTEGER NOT NULL,
  seq BIGINT NOT NULL,
  step DOUBLE NOT NULL,
  agent TEXT,
  layer TEXT,
  purpose TEXT,
  "query" TEXT,
  scoring TEXT,
  candidates TEXT,
  PRIMARY KEY (run, seq)
);

CREATE INDEX recalls_by_agent ON recalls (run, agent, step);

CREATE TABLE prompts (
  run INTEGER NOT NULL,
  seq BIGINT NOT NULL,
  step DOUBLE NOT NULL,
  agent TEXT,
  layer TEXT,
  section TEXT,
  text TEXT,
  budget TEXT,
  PRIMARY KEY (run, seq)
);

CREATE INDEX prompts_by_agent ON prompts (run, agent, step);

CREATE TABLE calls (
  run INTEGER NOT NULL,
  seq BIGINT NOT NULL,
  step DOUBLE NOT NULL,
  agent TEXT,
  purpose TEXT,
  occurrence INTEGER,
  model TEXT,
  prompt TEXT,
  prompt_hash TEXT,
  reply TEXT,
  raw TEXT,
  tokens_in INTEGER,
  tokens_out INTEGER,
  cost DOUBLE,
  latency DOUBLE,
  attempts INTEGER,
  cached BOOLEAN,
  error TEXT,
  finish TEXT,
  tokens_cached INTEGER,
  tier TEXT,
  kept BOOLEAN,
  client TEXT,
  form TEXT,
  PRIMARY KEY (run, seq)
);

CREATE INDEX calls_by_agent ON calls (run, agent, step);

CREATE TABLE unfinished_calls (
  run INTEGER NOT NULL,
  number INTEGER NOT NULL,
  step DOUBLE NOT NULL,
  agent TEXT NOT NULL,
  purpose TEXT NOT NULL,
  model TEXT,
  prompt_hash TEXT NOT NULL,
  reply TEXT,
  raw TEXT,
  tokens_in INTEGER,
  tokens_out INTEGER,
  cost DOUBLE,
  latency DOUBLE,
  attempts INTEGER,
  finish TEXT,
  tokens_cached INTEGER,
  tier TEXT,
  kept BOOLEAN,
  client TEXT,
  form TEXT,
  PRIMARY KEY (run, number)
);

CREATE TABLE interventions (
  run INTEGER NOT NULL,
  seq BIGINT NOT NULL,
  step DOUBLE NOT NULL,
  agent TEXT,
  kind TEXT,
  detail TEXT,
  PRIMARY KEY (run, seq)
);

CREATE INDEX interventions_by_agent ON interventions (run, agent, step);

CREATE TABLE answers (
  run INTEGER NOT NULL,
  seq BIGINT NOT NULL,
  step DOUBLE NOT NULL,
  agent TEXT,
  "key" TEXT,
  value TEXT,
  PRIMARY KEY (run, seq)
);

CREATE INDEX answers_by_agent ON answers (run, agent, step);

CREATE TABLE steps (
  run INTEGER NOT NULL,
  step DOUBLE NOT NULL,
  seq BIGINT NOT NULL,
  records INTEGER NOT NULL,
  recalls INTEGER NOT NULL,
  calls INTEGER NOT NULL,
  PRIMARY KEY (run, step)
);

CREATE TABLE checkpoints (
  run INTEGER NOT NULL,
  step DOUBLE NOT NULL,
  agent TEXT NOT NULL,
  state TEXT NOT NULL,
  kept BOOLEAN,
  PRIMARY KEY (run, step, agent)
);

CREATE TABLE vectors (
  run INTEGER NOT NULL,
  "key" TEXT NOT NULL,
  vector TEXT NOT NULL,
  PRIMARY KEY (run, "key")
);

CREATE TABLE leases (
  run INTEGER NOT NULL,
  token TEXT NOT NULL,
  host TEXT NOT NULL,
  machine TEXT NOT NULL,
  pid INTEGER NOT NULL,
  born TEXT NOT NULL,
  file TEXT NOT NULL,
  since TEXT NOT NULL,
  beat DOUBLE NOT NULL,
  PRIMARY KEY (run)
);

CREATE TABLE measures (
  run INTEGER NOT NULL,
  step DOUBLE NOT NULL,
  agent TEXT NOT NULL,
  measured TEXT NOT NULL,
  PRIMARY KEY (run, step, agent)
);

CREATE TABLE responses (
  run INTEGER NOT NULL,
  step DOUBLE NOT NULL,
  agent TEXT NOT NULL,
  question TEXT NOT NULL,
  value TEXT,
  error TEXT,
  PRIMARY KEY (run, step, agent, question)
);

CREATE TABLE studies (
  id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  model TEXT NOT NULL,
  design TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  drift TEXT NOT NULL,
  UNIQUE (name)
);

CREATE TABLE cases (
  study INTEGER NOT NULL,
  number INTEGER NOT NULL,
  "key" TEXT NOT NULL,
  parameters TEXT NOT NULL,
  seed TEXT,
  replicate INTEGER NOT NULL,
  steps DOUBLE NOT NULL,
  run INTEGER,
  state TEXT NOT NULL,
  done DOUBLE,
  ended BOOLEAN,
  usage TEXT,
  error TEXT,
  fingerprint TEXT,
  PRIMARY KEY (study, number),
  UNIQUE (study, "key")
);

CREATE TABLE spending (
  study INTEGER NOT NULL,
  number INTEGER NOT NULL,
  used TEXT NOT NULL,
  reserved TEXT NOT NULL,
  beyond TEXT NOT NULL,
  PRIMARY KEY (study, number)
);

CREATE VIEW recalled AS SELECT run, seq, step, agent, layer, purpose, query, (SELECT value FROM json_each(c.value) WHERE key = 'id') AS "id", (SELECT value FROM json_each(c.value) WHERE key = 'rank') AS "rank", (SELECT value FROM json_each(c.value) WHERE key = 'score') AS "score", (SELECT value FROM json_each(c.value) WHERE key = 'relevance') AS "relevance", (SELECT value FROM json_each(c.value) WHERE key = 'dense') AS "dense", (SELECT value FROM json_each(c.value) WHERE key = 'lexical') AS "lexical", (SELECT value FROM json_each(c.value) WHERE key = 'importance') AS "importance", (SELECT value FROM json_each(c.value) WHERE key = 'recency') AS "recency", (SELECT value FROM json_each(c.value) WHERE key = 'shown') AS "shown", (SELECT value FROM json_each(c.value) WHERE key = 'asked') AS "asked", (SELECT value FROM json_each(c.value) WHERE key = 'used') AS "used" FROM recalls, json_each(recalls.candidates) AS c;

INSERT INTO schema_version (application, version) VALUES ('mesa-memory', 10);

PRAGMA application_id = 1298492793;
