import { countNew, ROLLUPS, RULE_HITS } from "./ledger_rollups.ts";
import type { Migration } from "./migrate.ts";

/** How far the projection with this name has followed its table, as SQL. */
export const doneBy = (name: string) => `(SELECT number FROM projected WHERE name = '${name}')`;

/** The view whose triggers count the actions that are inserted into it. */
export const COUNTED = "actions_counting";

/** The search index holds this much of a text: a longer one is found by its beginning. */
const SEARCHED_LENGTH = 4_000;

/** The searched texts of an action, in the order of `actions_words`. */
const textsOf = (row: string) => [
  `substr(${row}.path, 1, ${SEARCHED_LENGTH})`,
  `substr(${row}.command, 1, ${SEARCHED_LENGTH})`,
  `substr(coalesce(${row}.reason, '') || ' ' ||
      coalesce(json_extract(${row}.decision, '$.reason'), ''), 1, ${SEARCHED_LENGTH})`,
];
const wordsOf = (row: string) => [`${row}.number`, ...textsOf(row)].join(", ");

/** The searched texts of a row of `actions`, joined to one. */
export const SEARCHED = textsOf("actions").map((text) => `coalesce(${text}, '')`)
  .join(" || char(10) || ");

/** So many actions, in their order, have common rows in `word_blocks`. */
export const BLOCK = 16_384;
/** So many blocks have common rows in `word_groups`. */
export const GROUP = 16;
const INTO_WORDS = "INSERT INTO actions_words (rowid, path, command, reason)";
const ADD_WORDS = `${INTO_WORDS} VALUES (${wordsOf("NEW")});`;

const WORDS_DONE = doneBy("words");

/** SQL that inserts the words of at most `?` actions that `actions_words` lacks, oldest first. */
export const PROJECT_WORDS = `${INTO_WORDS} SELECT ${wordsOf("actions")} FROM actions
  WHERE number > ${WORDS_DONE} ORDER BY number LIMIT ?`;

const RISK = "json_extract(risk, '$.level')";

/**
 * The values that most actions and events have, each as the condition of an index on the others. A
 * query that uses the index repeats the condition. A search for these values needs no index: it finds
 * them in every part of the table.
 */
export const RARE = {
  status: "status <> 'approved'",
  execution: "execution NOT IN ('running', 'succeeded')",
  decided_by: "decided_by <> 'policy'",
  risk: `${RISK} <> 'low'`,
  type: "type NOT IN ('action.submitted', 'action.started', 'action.finished') " +
    `AND NOT (type = 'action.approved' AND actor = '{"id":"policy","kind":"policy"}')`,
} as const;

/** The types whose events are not all in the index of `RARE.type`. */
export const COMMON_TYPES: readonly string[] = [
  "action.submitted",
  "action.approved",
  "action.started",
  "action.finished",
];

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
        done_count = done_count + ${countsAsDone("NEW")} - ${countsAsDone("OLD")},
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
}, {
  version: 15,
  statements: [
    // How far a table that is filled later has followed the actions, by their numbers.
    `CREATE TABLE projected (
      name TEXT PRIMARY KEY,
      number INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID`,
    "INSERT INTO projected SELECT 'words', coalesce(max(number), 0) FROM actions",
    "DROP TRIGGER actions_words_added",
    "DROP TRIGGER actions_words_changed",
    `CREATE TRIGGER actions_words_changed AFTER UPDATE OF path, command, reason, decision ON actions
      WHEN (OLD.path IS NOT NEW.path OR OLD.command IS NOT NEW.command
        OR OLD.reason IS NOT NEW.reason OR OLD.decision IS NOT NEW.decision)
        AND OLD.number <= ${WORDS_DONE} BEGIN
      DELETE FROM actions_words WHERE rowid = OLD.number;
      ${ADD_WORDS}
    END`,
  ],
}, {
  version: 16,
  // A larger ledger keeps its whole indexes, which answer the same queries.
  only_if: `SELECT 1 WHERE (SELECT coalesce(max(rowid), 0) FROM audit) <= ${MOST_COPIED}`,
  statements: [
    ...["status", "execution", "risk", "decider"].map((name) => `DROP INDEX actions_by_${name}`),
    `CREATE INDEX actions_by_status ON actions (project_id, status, seq) WHERE ${RARE.status}`,
    `CREATE INDEX actions_by_execution ON actions (project_id, execution, seq)
      WHERE ${RARE.execution}`,
    `CREATE INDEX actions_by_decider ON actions (project_id, decided_by, seq)
      WHERE ${RARE.decided_by}`,
    `CREATE INDEX actions_by_risk ON actions (${RISK}, project_id, seq) WHERE ${RARE.risk}`,
    "DROP INDEX audit_by_type",
    `CREATE INDEX audit_by_type ON audit (project_id, type, seq) WHERE ${RARE.type}`,
  ],
}, {
  version: 17,
  statements: [
    // Counts, filters and the order of events by time and session follow behind the answers. An
    // agent waits for none of their pages.
    ...["hour", "blocked", "decided_by_policy", "rule_hit", "in_hour", "counted", "recounted"]
      .map((name) => `DROP TRIGGER actions_${name}`),
    ...["path", "agent", "tool"].map((name) => `DROP INDEX actions_by_${name}`),
    ...["session", "at"].map((name) => `DROP INDEX audit_by_${name}`),
    "INSERT INTO projected SELECT 'counts', coalesce(max(number), 0) FROM actions",
    "INSERT INTO projected VALUES ('action_index', 0), ('audit_index', 0)",
    `CREATE TABLE action_index (
      project_id TEXT NOT NULL,
      name TEXT NOT NULL,
      value TEXT NOT NULL,
      seq INTEGER NOT NULL,
      number INTEGER NOT NULL,
      PRIMARY KEY (project_id, name, value, seq)
    ) STRICT, WITHOUT ROWID`,
    `CREATE TABLE audit_index (
      project_id TEXT NOT NULL,
      name TEXT NOT NULL,
      value TEXT NOT NULL,
      seq INTEGER NOT NULL,
      PRIMARY KEY (project_id, name, value, seq)
    ) STRICT, WITHOUT ROWID`,
    `CREATE VIEW ${COUNTED} AS SELECT * FROM actions`,
    ...countNew(COUNTED),
    `CREATE TRIGGER ${COUNTED}_hours INSTEAD OF INSERT ON ${COUNTED} BEGIN
      INSERT INTO action_hours VALUES
        (NEW.project_id, substr(NEW.created_at, 1, 13), NEW.seq, NEW.seq)
        ON CONFLICT DO UPDATE SET first_seq = min(first_seq, excluded.first_seq),
          last_seq = max(last_seq, excluded.last_seq);
    END`,
    `CREATE TRIGGER ${COUNTED}_sessions INSTEAD OF INSERT ON ${COUNTED} BEGIN
      UPDATE sessions SET
        action_count = action_count + 1,
        pending_count = pending_count + (NEW.status = 'pending'),
        done_count = done_count + ${countsAsDone("NEW")},
        last_seen_at = max(last_seen_at, NEW.created_at)
      WHERE project_id = NEW.project_id AND id = NEW.session_id;
    END`,
    // The triggers on changes count the difference to what was counted, so an action is counted
    // before its decision changes. An outcome alone changes no count of an uncounted action.
    `CREATE TRIGGER actions_counted_first BEFORE UPDATE OF status, decided_by, decided_at ON actions
      WHEN OLD.number > ${doneBy("counts")} AND (OLD.status <> NEW.status
        OR OLD.decided_by IS NOT NEW.decided_by OR OLD.decided_at IS NOT NEW.decided_at) BEGIN
      INSERT INTO ${COUNTED} SELECT * FROM actions
        WHERE number > ${doneBy("counts")} AND number <= OLD.number ORDER BY number;
      UPDATE projected SET number = OLD.number WHERE name = 'counts';
    END`,
    `CREATE TRIGGER actions_recounted AFTER UPDATE OF status, execution, reversible ON actions
      WHEN OLD.number <= ${doneBy("counts")} AND (OLD.status <> NEW.status
        OR OLD.execution <> NEW.execution OR OLD.reversible <> NEW.reversible) BEGIN
      UPDATE sessions SET
        pending_count = pending_count + (NEW.status = 'pending') - (OLD.status = 'pending'),
        done_count = done_count + ${countsAsDone("NEW")} - ${countsAsDone("OLD")},
        rolled_back_count = rolled_back_count
          + (NEW.status = 'rolled_back' AND NEW.tool <> 'rollback')
          - (OLD.status = 'rolled_back' AND OLD.tool <> 'rollback')
      WHERE project_id = NEW.project_id AND id = NEW.session_id;
    END`,
    // A content of one piece is in its own row. A longer one is in `blob_chunks`.
    "ALTER TABLE blobs ADD COLUMN encoding TEXT CHECK (encoding IN ('plain', 'deflate'))",
    "ALTER TABLE blobs ADD COLUMN data BLOB",
    // Orders the intents of one millisecond: the length of the chain at their start.
    "ALTER TABLE intents ADD COLUMN started_seq INTEGER NOT NULL DEFAULT 0",
  ],
}, {
  version: 18,
  // A larger ledger keeps these tables, which answer the same queries.
  only_if: `SELECT 1 WHERE (SELECT coalesce(max(rowid), 0) FROM audit) <= ${MOST_COPIED}
    AND NOT EXISTS (SELECT 1 FROM audit WHERE rowid <> seq)
    AND (SELECT coalesce(max(rowid), 0) FROM intents) <= ${MOST_COPIED}`,
  statements: [
    // The number of an event is its place, so the chain has no second tree for it.
    `CREATE TABLE chain (
      project_id TEXT NOT NULL,
      seq INTEGER PRIMARY KEY,
      at TEXT NOT NULL,
      session_id TEXT,
      action_id TEXT,
      type TEXT NOT NULL,
      actor TEXT NOT NULL,
      data TEXT NOT NULL,
      prev_hash TEXT NOT NULL,
      hash TEXT NOT NULL
    ) STRICT`,
    "INSERT INTO chain SELECT * FROM audit NOT INDEXED ORDER BY rowid",
    "DROP TABLE audit",
    "ALTER TABLE chain RENAME TO audit",
    // An index ends with the number of the row. Without the project, which is the same in each
    // row, SQLite never sorts the events of the project through one of them.
    "CREATE INDEX audit_by_action ON audit (action_id)",
    `CREATE INDEX audit_by_type ON audit (type) WHERE ${RARE.type}`,
    ...AUDIT_TRIGGERS,
    // An intent is found by its action and its path, never by its id alone.
    `CREATE TABLE changes (
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
      started_seq INTEGER NOT NULL DEFAULT 0
    ) STRICT`,
    `INSERT INTO changes SELECT project_id, id, action_id, digest, path, before_sha256, after_sha256,
      state, data, created_at, settled_at, rowid FROM intents`,
    "DROP TABLE intents",
    "ALTER TABLE changes RENAME TO intents",
    "CREATE INDEX intents_by_action ON intents (project_id, action_id)",
    "CREATE INDEX intents_by_path ON intents (project_id, path, created_at, started_seq)",
  ],
}, {
  version: 19,
  statements: [
    // The row of a dropped content stays, with its size. `chunks` stays until they are deleted.
    "ALTER TABLE blobs ADD COLUMN dropped_at TEXT",
  ],
}, {
  version: 20,
  // The git branch of the folder when the session began.
  statements: ["ALTER TABLE sessions ADD COLUMN branch TEXT"],
}, {
  version: 21,
  // Counted once, when the action is held. Older actions have none.
  statements: ["ALTER TABLE actions ADD COLUMN lines TEXT"],
}, {
  version: 22,
  // The machine whose agent works in the session, where several share the ledger.
  statements: ["ALTER TABLE sessions ADD COLUMN machine TEXT"],
}, {
  version: 23,
  statements: [
    // The frequent words of each block of actions, and which of them share an action.
    `CREATE TABLE word_blocks (
      project_id TEXT NOT NULL,
      word TEXT NOT NULL,
      block INTEGER NOT NULL,
      place INTEGER NOT NULL,
      meets TEXT NOT NULL,
      PRIMARY KEY (project_id, word, block)
    ) STRICT, WITHOUT ROWID`,
    "INSERT INTO projected VALUES ('word_blocks', 0), ('word_changes', 0)",
    // A block whose texts have changed has no rows, so a search looks at all of its actions.
    `CREATE TRIGGER actions_words_rewritten
      AFTER UPDATE OF path, command, reason, decision ON actions
      WHEN OLD.path IS NOT NEW.path OR OLD.command IS NOT NEW.command
        OR OLD.reason IS NOT NEW.reason OR OLD.decision IS NOT NEW.decision BEGIN
      UPDATE projected SET number = number + 1 WHERE name = 'word_changes';
      DELETE FROM word_blocks WHERE NEW.seq <= ${doneBy("word_blocks")}
        AND project_id = NEW.project_id AND block = (NEW.seq - 1) / ${BLOCK};
    END`,
  ],
}, {
  version: 24,
  // The oldest schema whose releases can use the database with that version; NULL for its own.
  statements: ["ALTER TABLE migrations ADD COLUMN needs INTEGER"],
}, {
  version: 25,
  is_additive: true,
  statements: [
    // The words that are frequent in each block of a group, and which of them share an action in any.
    // A row counts while `word_blocks` has its word in each of the blocks.
    `CREATE TABLE word_groups (
      project_id TEXT NOT NULL,
      word TEXT NOT NULL,
      block_group INTEGER NOT NULL,
      place INTEGER NOT NULL,
      meets TEXT NOT NULL,
      PRIMARY KEY (project_id, word, block_group)
    ) STRICT, WITHOUT ROWID`,
  ],
}, {
  version: 26,
  // gate writes the same value to both columns. Another program may have written another one.
  only_if: "SELECT 1 FROM actions WHERE number <> seq LIMIT 1",
  statements: [
    `INSERT INTO ${COUNTED} SELECT * FROM actions WHERE number > ${doneBy("counts")}`,
    // First below zero, because the new number of a row may still be that of another.
    "UPDATE actions SET number = -seq",
    "UPDATE actions SET number = seq",
    "UPDATE projected SET number = (SELECT max(number) FROM actions) WHERE name = 'counts'",
    // These tables name actions by their number.
    "INSERT INTO actions_words (actions_words) VALUES ('delete-all')",
    ...["action_index", "word_blocks", "word_groups"].map((table) => `DELETE FROM ${table}`),
    `UPDATE projected SET number = 0 WHERE name IN ('words', 'action_index', 'word_blocks')`,
  ],
}, {
  version: 27,
  statements: [
    // The number of an action is its place, so no index is needed to find it there.
    "DROP INDEX actions_by_seq",
    `CREATE TRIGGER actions_placed AFTER INSERT ON actions WHEN NEW.number <> NEW.seq BEGIN
      SELECT RAISE(ABORT, 'the number of an action is its place');
    END`,
  ],
}, {
  version: 28,
  statements: [
    // The projector fills the index of a session behind the answers too.
    `INSERT INTO action_index (project_id, name, value, seq, number)
      SELECT project_id, 'session_id', session_id, seq, number
      FROM actions INDEXED BY actions_by_session ORDER BY project_id, session_id, seq`,
    "DROP INDEX actions_by_session",
  ],
}];

/** SQL that is true for an action that a rollback of its session undoes. */
export function countsAsDone(row: string): string {
  return `(${row}.reversible AND ${row}.tool <> 'rollback' AND (${row}.execution = 'succeeded'
    OR (${row}.tool = 'run_command' AND ${row}.execution IN ('failed', 'unknown'))))`;
}
