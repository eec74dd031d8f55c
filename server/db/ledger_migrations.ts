import { ROLLUPS, RULE_HITS } from "./ledger_rollups.ts";
import type { Migration } from "./migrate.ts";

/** The search index holds this much of a text: a longer one is found by its beginning. */
const SEARCHED_LENGTH = 4_000;

const ADD_WORDS = `INSERT INTO actions_words (rowid, path, command, reason)
  VALUES (NEW.number, substr(NEW.path, 1, ${SEARCHED_LENGTH}), substr(NEW.command, 1, ${SEARCHED_LENGTH}),
    substr(coalesce(NEW.reason, '') || ' ' || coalesce(json_extract(NEW.decision, '$.reason'), ''),
      1, ${SEARCHED_LENGTH}));`;

const RISK = "json_extract(risk, '$.level')";

/** SQL that is true for an action which an equal submission may join. */
export const OPEN_ACTION = "(status = 'pending' OR (status = 'approved' AND execution = 'none'))";

/** Copying this many events takes about two seconds. */
const MOST_COPIED = 100_000;

const AUDIT_INDEXES = [
  "CREATE INDEX audit_by_action ON audit (project_id, action_id, seq)",
  "CREATE INDEX audit_by_session ON audit (project_id, session_id, seq)",
  "CREATE INDEX audit_by_type ON audit (project_id, type, seq)",
  "CREATE INDEX audit_by_at ON audit (project_id, at, seq)",
];

const AUDIT_TRIGGERS = [
  `CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit BEGIN
    SELECT RAISE(ABORT, 'the audit chain is append-only');
  END`,
  `CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit BEGIN
    SELECT RAISE(ABORT, 'the audit chain is append-only');
  END`,
];

/** The schema of a project's ledger. */
export const LEDGER_MIGRATIONS: Migration[] = [{
  version: 1,
  statements: [
    `CREATE TABLE sessions (
      project_id TEXT NOT NULL,
      id TEXT NOT NULL,
      seq INTEGER NOT NULL,
      root TEXT NOT NULL,
      host TEXT NOT NULL,
      agent TEXT NOT NULL,
      client TEXT NOT NULL,
      started_at TEXT NOT NULL,
      last_seen_at TEXT NOT NULL,
      ended_at TEXT,
      end_id TEXT,
      action_count INTEGER NOT NULL DEFAULT 0,
      pending_count INTEGER NOT NULL DEFAULT 0,
      done_count INTEGER NOT NULL DEFAULT 0,
      rolled_back_count INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (project_id, id)
    ) STRICT`,
    "CREATE UNIQUE INDEX sessions_by_seq ON sessions (project_id, seq)",
    "CREATE INDEX sessions_by_agent ON sessions (project_id, agent, seq)",
    "CREATE INDEX sessions_by_host ON sessions (project_id, host, seq)",
    "CREATE INDEX sessions_by_client ON sessions (project_id, client, seq)",

    `CREATE TABLE actions (
      number INTEGER PRIMARY KEY,
      project_id TEXT NOT NULL,
      id TEXT NOT NULL,
      seq INTEGER NOT NULL,
      root TEXT NOT NULL,
      session_id TEXT NOT NULL,
      agent TEXT NOT NULL,
      tool TEXT NOT NULL,
      path TEXT,
      command TEXT,
      cwd TEXT,
      status TEXT NOT NULL CHECK (status IN
        ('pending','approved','rejected','blocked','expired','cancelled','rolled_back')),
      execution TEXT NOT NULL CHECK (execution IN
        ('none','running','succeeded','failed','unknown')),
      decision TEXT NOT NULL,
      risk TEXT NOT NULL,
      reversible INTEGER NOT NULL,
      edited INTEGER NOT NULL DEFAULT 0,
      before_sha256 TEXT,
      after_sha256 TEXT,
      bytes INTEGER,
      digest TEXT NOT NULL,
      replay_of TEXT,
      rollback_of TEXT,
      created_at TEXT NOT NULL,
      decided_at TEXT,
      expires_at TEXT,
      decided_by TEXT,
      reason TEXT,
      exit_code INTEGER,
      error TEXT,
      -- Beside the record: what is needed to carry it out, to show it and to undo it.
      decision_id TEXT,
      input TEXT,
      analysis TEXT,
      proposed TEXT,
      content_sha256 TEXT,
      before_mode INTEGER,
      claim_id TEXT,
      claimed_by TEXT,
      started_at TEXT,
      finished_at TEXT,
      output_sha256 TEXT,
      output_truncated INTEGER,
      duration_ms INTEGER,
      result TEXT,
      UNIQUE (project_id, id),
      FOREIGN KEY (project_id, session_id) REFERENCES sessions (project_id, id)
    ) STRICT`,
    "CREATE UNIQUE INDEX actions_by_seq ON actions (project_id, seq)",
    "CREATE INDEX actions_by_status ON actions (project_id, status, seq)",
    "CREATE INDEX actions_by_session ON actions (project_id, session_id, seq)",
    "CREATE INDEX actions_by_path ON actions (project_id, path, seq)",
    "CREATE INDEX actions_by_agent ON actions (project_id, agent, seq)",
    "CREATE INDEX actions_by_tool ON actions (project_id, tool, seq)",
    "CREATE INDEX actions_by_execution ON actions (project_id, execution, seq)",
    "CREATE INDEX actions_by_decider ON actions (project_id, decided_by, seq)",
    "CREATE INDEX actions_by_digest ON actions (project_id, digest, seq)",
    `CREATE INDEX actions_unstarted ON actions (project_id, seq)
      WHERE status = 'approved' AND execution = 'none'`,
    `CREATE INDEX actions_unfinished ON actions (project_id, seq)
      WHERE status = 'pending' OR execution = 'running'`,

    // Triggers count, so that the counts cannot differ from the actions.
    `CREATE TRIGGER actions_counted AFTER INSERT ON actions BEGIN
      UPDATE sessions SET
        action_count = action_count + 1,
        pending_count = pending_count + (NEW.status = 'pending'),
        done_count = done_count + (NEW.execution = 'succeeded' AND NEW.reversible
          AND NEW.tool <> 'rollback'),
        last_seen_at = max(last_seen_at, NEW.created_at)
      WHERE project_id = NEW.project_id AND id = NEW.session_id;
    END`,
    `CREATE TRIGGER actions_recounted AFTER UPDATE ON actions BEGIN
      UPDATE sessions SET
        pending_count = pending_count + (NEW.status = 'pending') - (OLD.status = 'pending'),
        done_count = done_count
          + (NEW.execution = 'succeeded' AND NEW.reversible AND NEW.tool <> 'rollback')
          - (OLD.execution = 'succeeded' AND OLD.reversible AND OLD.tool <> 'rollback'),
        rolled_back_count = rolled_back_count
          + (NEW.status = 'rolled_back' AND NEW.tool <> 'rollback')
          - (OLD.status = 'rolled_back' AND OLD.tool <> 'rollback')
      WHERE project_id = NEW.project_id AND id = NEW.session_id;
    END`,

    `CREATE TABLE blobs (
      project_id TEXT NOT NULL,
      sha256 TEXT NOT NULL,
      bytes INTEGER NOT NULL,
      chunks INTEGER NOT NULL,
      created_at TEXT NOT NULL,
      PRIMARY KEY (project_id, sha256)
    ) STRICT`,
    `CREATE TABLE blob_chunks (
      project_id TEXT NOT NULL,
      sha256 TEXT NOT NULL,
      number INTEGER NOT NULL,
      encoding TEXT NOT NULL CHECK (encoding IN ('plain', 'deflate')),
      data BLOB NOT NULL,
      PRIMARY KEY (project_id, sha256, number),
      FOREIGN KEY (project_id, sha256) REFERENCES blobs (project_id, sha256)
    ) STRICT`,

    `CREATE TABLE intents (
      project_id TEXT NOT NULL,
      id TEXT NOT NULL,
      action_id TEXT NOT NULL,
      digest TEXT NOT NULL,
      path TEXT NOT NULL,
      before_sha256 TEXT,
      after_sha256 TEXT,
      state TEXT NOT NULL CHECK (state IN ('open', 'done', 'undone', 'conflict')),
      data TEXT NOT NULL DEFAULT '{}',
      created_at TEXT NOT NULL,
      settled_at TEXT,
      PRIMARY KEY (project_id, id)
    ) STRICT`,
    "CREATE INDEX intents_open ON intents (project_id, created_at) WHERE state = 'open'",
    "CREATE INDEX intents_by_action ON intents (project_id, action_id)",
    "CREATE INDEX intents_by_path ON intents (project_id, path, created_at)",

    `CREATE TABLE audit (
      project_id TEXT NOT NULL,
      seq INTEGER NOT NULL,
      at TEXT NOT NULL,
      session_id TEXT,
      action_id TEXT,
      type TEXT NOT NULL,
      actor TEXT NOT NULL,
      data TEXT NOT NULL,
      prev_hash TEXT NOT NULL,
      hash TEXT NOT NULL,
      PRIMARY KEY (project_id, seq),
      UNIQUE (project_id, prev_hash)
    ) STRICT`,
    ...AUDIT_INDEXES,
    ...AUDIT_TRIGGERS,

    `CREATE TABLE checkpoints (
      project_id TEXT NOT NULL,
      seq INTEGER NOT NULL,
      hash TEXT NOT NULL,
      at TEXT NOT NULL,
      public_key TEXT NOT NULL,
      signature TEXT NOT NULL,
      PRIMARY KEY (project_id, seq)
    ) STRICT`,
    `CREATE TRIGGER checkpoints_no_update BEFORE UPDATE ON checkpoints BEGIN
      SELECT RAISE(ABORT, 'checkpoints are append-only');
    END`,
    `CREATE TRIGGER checkpoints_no_delete BEFORE DELETE ON checkpoints BEGIN
      SELECT RAISE(ABORT, 'checkpoints are append-only');
    END`,

    ...ROLLUPS,

    // The words of paths, commands and reasons. The index has no copy of the texts themselves.
    `CREATE VIRTUAL TABLE actions_words USING fts5(path, command, reason,
      content = '', contentless_delete = 1, detail = full, tokenize = 'unicode61 remove_diacritics 2')`,
    `CREATE TRIGGER actions_words_added AFTER INSERT ON actions BEGIN ${ADD_WORDS} END`,
    `CREATE TRIGGER actions_words_changed AFTER UPDATE OF path, command, reason, decision ON actions
      WHEN OLD.path IS NOT NEW.path OR OLD.command IS NOT NEW.command
        OR OLD.reason IS NOT NEW.reason OR OLD.decision IS NOT NEW.decision BEGIN
      DELETE FROM actions_words WHERE rowid = OLD.number;
      ${ADD_WORDS}
    END`,
  ],
}, {
  version: 2,
  statements: RULE_HITS,
}, {
  version: 3,
  statements: [
    // The range of action numbers in each hour, so that a time filter becomes a range of numbers.
    // Every hour in the table is checked, because the clock can be set back.
    `CREATE TABLE action_hours (
      project_id TEXT NOT NULL,
      hour TEXT NOT NULL,
      first_seq INTEGER NOT NULL,
      last_seq INTEGER NOT NULL,
      PRIMARY KEY (project_id, hour)
    ) STRICT, WITHOUT ROWID`,
    `INSERT INTO action_hours SELECT project_id, substr(created_at, 1, 13), min(seq), max(seq)
      FROM actions GROUP BY project_id, substr(created_at, 1, 13)`,
    `CREATE TRIGGER actions_in_hour AFTER INSERT ON actions BEGIN
      INSERT INTO action_hours VALUES
        (NEW.project_id, substr(NEW.created_at, 1, 13), NEW.seq, NEW.seq)
        ON CONFLICT DO UPDATE SET first_seq = min(first_seq, excluded.first_seq),
          last_seq = max(last_seq, excluded.last_seq);
    END`,
    // The project comes second: SQLite would prefer this index for every query otherwise.
    `CREATE INDEX actions_by_risk ON actions (${RISK}, project_id, seq)`,
  ],
}, {
  version: 4,
  statements: [
    "ALTER TABLE actions ADD COLUMN reversibility TEXT",
    // The changes of a command count as done even when the command failed.
    "DROP TRIGGER actions_recounted",
    `CREATE TRIGGER actions_recounted AFTER UPDATE ON actions BEGIN
      UPDATE sessions SET
        pending_count = pending_count + (NEW.status = 'pending') - (OLD.status = 'pending'),
        done_count = done_count + ${counts("NEW")} - ${counts("OLD")},
        rolled_back_count = rolled_back_count
          + (NEW.status = 'rolled_back' AND NEW.tool <> 'rollback')
          - (OLD.status = 'rolled_back' AND OLD.tool <> 'rollback')
      WHERE project_id = NEW.project_id AND id = NEW.session_id;
    END`,
  ],
}, {
  version: 5,
  statements: [
    `CREATE TABLE grants (
      project_id TEXT NOT NULL,
      id TEXT NOT NULL,
      seq INTEGER NOT NULL,
      scope TEXT NOT NULL CHECK (scope IN ('session', 'project')),
      session_id TEXT NOT NULL,
      action_id TEXT NOT NULL,
      digest TEXT NOT NULL,
      pattern TEXT,
      access TEXT CHECK (access IN ('run', 'read', 'write', 'delete')),
      tool TEXT NOT NULL,
      path TEXT,
      command TEXT,
      questions TEXT NOT NULL,
      scripts TEXT NOT NULL,
      given_by TEXT NOT NULL,
      created_at TEXT NOT NULL,
      expires_at TEXT NOT NULL,
      max_uses INTEGER NOT NULL CHECK (max_uses > 0),
      uses INTEGER NOT NULL DEFAULT 0 CHECK (uses BETWEEN 0 AND max_uses),
      use_id TEXT,
      last_used_at TEXT,
      revoked_at TEXT,
      revoked_by TEXT,
      revoke_id TEXT,
      PRIMARY KEY (project_id, id),
      FOREIGN KEY (project_id, session_id) REFERENCES sessions (project_id, id),
      FOREIGN KEY (project_id, action_id) REFERENCES actions (project_id, id)
    ) STRICT`,
    "CREATE UNIQUE INDEX grants_by_seq ON grants (project_id, seq)",
    `CREATE INDEX grants_usable ON grants (project_id, expires_at)
      WHERE revoked_at IS NULL AND uses < max_uses`,
  ],
}, {
  version: 6,
  statements: [
    "ALTER TABLE actions ADD COLUMN conflicts TEXT NOT NULL DEFAULT '[]'",
    `CREATE TABLE held_paths (
      project_id TEXT NOT NULL,
      path TEXT NOT NULL,
      action_id TEXT NOT NULL,
      PRIMARY KEY (project_id, path, action_id)
    ) STRICT, WITHOUT ROWID`,
    "CREATE INDEX held_paths_by_action ON held_paths (project_id, action_id)",
    `CREATE TRIGGER actions_no_longer_held AFTER UPDATE ON actions
      WHEN OLD.status = 'pending' AND NEW.status <> 'pending' BEGIN
      DELETE FROM held_paths WHERE project_id = NEW.project_id AND action_id = NEW.id;
    END`,
  ],
}, {
  version: 7,
  // Nothing ever wrote or read these columns.
  statements: ["content_sha256", "before_mode", "result"].map((name) =>
    `ALTER TABLE actions DROP COLUMN ${name}`
  ),
}, {
  version: 8,
  statements: [
    // The digest of the session's secret. A session without one is open to every agent.
    "ALTER TABLE sessions ADD COLUMN secret_sha256 TEXT",
    // The process that opened the session, as JSON.
    "ALTER TABLE sessions ADD COLUMN process TEXT",
    `CREATE INDEX sessions_by_secret ON sessions (project_id, secret_sha256)
      WHERE secret_sha256 IS NOT NULL AND ended_at IS NULL`,
  ],
}, {
  version: 9,
  statements: [
    `CREATE TABLE blocks (
      project_id TEXT NOT NULL,
      id TEXT NOT NULL,
      session_id TEXT NOT NULL,
      action_id TEXT,
      reason TEXT NOT NULL,
      created_at TEXT NOT NULL,
      lifted_at TEXT,
      lifted_by TEXT,
      lift_id TEXT,
      PRIMARY KEY (project_id, id),
      FOREIGN KEY (project_id, session_id) REFERENCES sessions (project_id, id)
    ) STRICT`,
    `CREATE INDEX blocks_active ON blocks (project_id, session_id) WHERE lifted_at IS NULL`,
  ],
}, {
  version: 10,
  statements: [
    // The project of the folder that the agent's host opened, if it is another one.
    "ALTER TABLE sessions ADD COLUMN home_project TEXT",
  ],
}, {
  version: 11,
  statements: [
    // Only open actions have twins, so that an allowed write does not touch this index.
    "DROP INDEX actions_by_digest",
    `CREATE INDEX actions_open ON actions (project_id, digest, seq) WHERE ${OPEN_ACTION}`,
    // Open intents belong to running actions, which have an index.
    "DROP INDEX intents_open",
  ],
}, {
  version: 12,
  // Copying more events would keep the daemon busy for too long: such a ledger keeps its index.
  only_if: `SELECT 1 WHERE (SELECT coalesce(max(rowid), 0) FROM audit) <= ${MOST_COPIED}`,
  statements: [
    // Without the index on `prev_hash`: a hash is in another page each time. The number excludes
    // a second event after the same one.
    `CREATE TABLE chain (
      project_id TEXT NOT NULL,
      seq INTEGER NOT NULL,
      at TEXT NOT NULL,
      session_id TEXT,
      action_id TEXT,
      type TEXT NOT NULL,
      actor TEXT NOT NULL,
      data TEXT NOT NULL,
      prev_hash TEXT NOT NULL,
      hash TEXT NOT NULL,
      PRIMARY KEY (project_id, seq)
    ) STRICT`,
    `INSERT INTO chain (rowid, project_id, seq, at, session_id, action_id, type, actor, data,
        prev_hash, hash)
      SELECT rowid, project_id, seq, at, session_id, action_id, type, actor, data, prev_hash, hash
      FROM audit NOT INDEXED ORDER BY rowid`,
    "DROP TABLE audit",
    "ALTER TABLE chain RENAME TO audit",
    ...AUDIT_INDEXES,
    ...AUDIT_TRIGGERS,
  ],
}, {
  version: 13,
  statements: [
    // A block of an agent holds for all its sessions.
    "ALTER TABLE blocks ADD COLUMN agent TEXT",
    "ALTER TABLE blocks ADD COLUMN expires_at TEXT",
  ],
}, {
  version: 14,
  statements: [
    // The approval route of a held action, as JSON. Its votes are events of the audit log.
    "ALTER TABLE actions ADD COLUMN route TEXT",
    `CREATE INDEX actions_routed ON actions (project_id, seq)
      WHERE status = 'pending' AND route IS NOT NULL`,
  ],
}];

/** SQL that is true for an action that a rollback of its session undoes. */
function counts(row: string): string {
  return `(${row}.reversible AND ${row}.tool <> 'rollback' AND (${row}.execution = 'succeeded'
    OR (${row}.tool = 'run_command' AND ${row}.execution IN ('failed', 'unknown'))))`;
}
