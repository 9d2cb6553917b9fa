CREATE TABLE schema_version (
  application TEXT NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (application)
);

CREATE TABLE runs (
  id SERIAL NOT NULL,
  name TEXT,
  model TEXT NOT NULL,
  parameters JSON,
  seed TEXT,
  versions JSON,
  started TEXT NOT NULL,
  state TEXT NOT NULL,
  parent INTEGER,
  parent_step DOUBLE PRECISION,
  PRIMARY KEY (id)
);

CREATE TABLE agents (
  run INTEGER NOT NULL,
  agent TEXT NOT NULL,
  unique_id JSONB,
  class TEXT,
  memory TEXT,
  layers JSONB,
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
  step DOUBLE PRECISION NOT NULL,
  text TEXT,
  content JSON,
  importance DOUBLE PRECISION,
  subject JSONB,
  sources JSONB,
  valid_from DOUBLE PRECISION NOT NULL,
  valid_to DOUBLE PRECISION,
  closed_because TEXT,
  superseded_by TEXT,
  embedding halfvec,
  embedder TEXT,
  graded_at DOUBLE PRECISION,
  origin TEXT,
  stale_since DOUBLE PRECISION,
  PRIMARY KEY (run, id)
);

CREATE INDEX records_by_agent ON records (run, agent, seq);

CREATE INDEX records_by_successor ON records (run, superseded_by) WHERE superseded_by IS NOT NULL;

CREATE TABLE recalls (
  run INTEGER NOT NULL,
  seq BIGINT NOT NULL,
  step DOUBLE PRECISION NOT NULL,
  agent TEXT,
  layer TEXT,
  purpose TEXT,
  query TEXT,
  scoring JSON,
  candidates JSONB,
  PRIMARY KEY (run, seq)
);

CREATE INDEX recalls_by_agent ON recalls (run, agent, step);

CREATE TABLE prompts (
  run INTEGER NOT NULL,
  seq BIGINT NOT NULL,
  step DOUBLE PRECISION NOT NULL,
  agent TEXT,
  layer TEXT,
  section TEXT,
  text TEXT,
  budget JSON,
  PRIMARY KEY (run, seq)
);

CREATE INDEX prompts_by_agent ON prompts (run, agent, step);

CREATE TABLE calls (
  run INTEGER NOT NULL,
  seq BIGINT NOT NULL,
  step DOUBLE PRECISION NOT NULL,
  agent TEXT,
  purpose TEXT,
  occurrence INTEGER,
  model TEXT,
  prompt JSON,
  prompt_hash TEXT,
  reply TEXT,
  raw JSON,
  tokens_in INTEGER,
  tokens_out INTEGER,
  cost DOUBLE PRECISION,
  latency DOUBLE PRECISION,
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
  step DOUBLE PRECISION NOT NULL,
  agent TEXT NOT NULL,
  purpose TEXT NOT NULL,
  model TEXT,
  prompt_hash TEXT NOT NULL,
  reply TEXT,
  raw JSON,
  tokens_in INTEGER,
  tokens_out INTEGER,
  cost DOUBLE PRECISION,
  latency DOUBLE PRECISION,
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
  step DOUBLE PRECISION NOT NULL,
  agent TEXT,
  kind TEXT,
  detail JSON,
  PRIMARY KEY (run, seq)
);

CREATE INDEX interventions_by_agent ON interventions (run, agent, step);

CREATE TABLE answers (
  run INTEGER NOT NULL,
  seq BIGINT NOT NULL,
  step DOUBLE PRECISION NOT NULL,
  agent TEXT,
  key TEXT,
  value JSON,
  PRIMARY KEY (run, seq)
);

CREATE INDEX answers_by_agent ON answers (run, agent, step);

CREATE TABLE steps (
  run INTEGER NOT NULL,
  step DOUBLE PRECISION NOT NULL,
  seq BIGINT NOT NULL,
  records INTEGER NOT NULL,
  recalls INTEGER NOT NULL,
  calls INTEGER NOT NULL,
  PRIMARY KEY (run, step)
);

CREATE TABLE checkpoints (
  run INTEGER NOT NULL,
  step DOUBLE PRECISION NOT NULL,
  agent TEXT NOT NULL,
  state JSON NOT NULL,
  kept BOOLEAN,
  PRIMARY KEY (run, step, agent)
);

CREATE TABLE vectors (
  run INTEGER NOT NULL,
  key TEXT NOT NULL,
  vector TEXT NOT NULL,
  PRIMARY KEY (run, key)
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
  beat DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (run)
);

CREATE TABLE measures (
  run INTEGER NOT NULL,
  step DOUBLE PRECISION NOT NULL,
  agent TEXT NOT NULL,
  measured JSON NOT NULL,
  PRIMARY KEY (run, step, agent)
);

CREATE TABLE responses (
  run INTEGER NOT NULL,
  step DOUBLE PRECISION NOT NULL,
  agent TEXT NOT NULL,
  question TEXT NOT NULL,
  value JSON,
  error TEXT,
  PRIMARY KEY (run, step, agent, question)
);

CREATE TABLE studies (
  id SERIAL NOT NULL,
  name TEXT NOT NULL,
  model TEXT NOT NULL,
  design JSON NOT NULL,
  fingerprint JSON NOT NULL,
  drift JSON NOT NULL,
  PRIMARY KEY (id),
  UNIQUE (name)
);

CREATE TABLE cases (
  study INTEGER NOT NULL,
  number INTEGER NOT NULL,
  key TEXT NOT NULL,
  parameters JSON NOT NULL,
  seed JSON,
  replicate INTEGER NOT NULL,
  steps DOUBLE PRECISION NOT NULL,
  run INTEGER,
  state TEXT NOT NULL,
  done DOUBLE PRECISION,
  ended BOOLEAN,
  usage JSON,
  error TEXT,
  fingerprint TEXT,
  PRIMARY KEY (study, number),
  UNIQUE (study, key)
);

CREATE TABLE spending (
  study INTEGER NOT NULL,
  number INTEGER NOT NULL,
  used JSON NOT NULL,
  reserved JSON NOT NULL,
  beyond JSON NOT NULL,
  PRIMARY KEY (study, number)
);

CREATE VIEW recalled AS SELECT run, seq, step, agent, layer, purpose, query, c."id", c."rank", c."score", c."relevance", c."dense", c."lexical", c."importance", c."recency", c."shown", c."asked", c."used" FROM recalls, jsonb_to_recordset(recalls.candidates) AS c("id" text, "rank" integer, "score" double precision, "relevance" double precision, "dense" double precision, "lexical" double precision, "importance" double precision, "recency" double precision, "shown" boolean, "asked" double precision, "used" boolean);

INSERT INTO schema_version (application, version) VALUES ('mesa-memory', 10);
