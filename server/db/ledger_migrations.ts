import { GRANTS } from "./ledger_grants.ts";
import { HOURS } from "./ledger_hours.ts";
import { ROLLUPS } from "./ledger_rollups.ts";
import { RULE_HITS } from "./ledger_rule_hits.ts";
import { SEARCH } from "./ledger_search.ts";
import type { Migration } from "./migrate.ts";

/** The schema of a project's ledger, step by step. */
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

    // Counts are kept by the database itself, so they cannot drift from the actions.
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
    "CREATE INDEX audit_by_action ON audit (project_id, action_id, seq)",
    "CREATE INDEX audit_by_session ON audit (project_id, session_id, seq)",
    "CREATE INDEX audit_by_type ON audit (project_id, type, seq)",
    "CREATE INDEX audit_by_at ON audit (project_id, at, seq)",
    `CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit BEGIN
      SELECT RAISE(ABORT, 'the audit chain is append-only');
    END`,
    `CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit BEGIN
      SELECT RAISE(ABORT, 'the audit chain is append-only');
    END`,

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
    ...SEARCH,
  ],
}, {
  version: 2,
  statements: RULE_HITS,
}, {
  version: 3,
  statements: HOURS,
}, {
  version: 4,
  statements: [
    "ALTER TABLE actions ADD COLUMN reversibility TEXT",
    // What a command changed counts as done however it ended.
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
  statements: GRANTS,
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
}];

/** Whether a row is one of those that a rollback of its session would undo. */
function counts(row: string): string {
  return `(${row}.reversible AND ${row}.tool <> 'rollback' AND (${row}.execution = 'succeeded'
    OR (${row}.tool = 'run_command' AND ${row}.execution IN ('failed', 'unknown'))))`;
}
