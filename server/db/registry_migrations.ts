import type { Migration } from "./migrate.ts";

/** The schema of the machine-wide registry. */
export const REGISTRY_MIGRATIONS: Migration[] = [{
  version: 1,
  statements: [
    `CREATE TABLE projects (
      project_id TEXT PRIMARY KEY,
      name TEXT NOT NULL,
      registered_at TEXT NOT NULL,
      last_activity_at TEXT,
      -- 1 while its ledger is open or holds something unfinished: opened again at start.
      is_awake INTEGER NOT NULL DEFAULT 0
    ) STRICT`,
    `CREATE TABLE roots (
      project_id TEXT NOT NULL REFERENCES projects (project_id),
      root TEXT NOT NULL,
      added_at TEXT NOT NULL,
      PRIMARY KEY (project_id, root)
    ) STRICT`,
    "CREATE INDEX roots_by_root ON roots (root)",
    // The newest known head of each chain, which shows when a chain was shortened.
    `CREATE TABLE heads (
      project_id TEXT PRIMARY KEY,
      seq INTEGER NOT NULL,
      hash TEXT NOT NULL
    ) STRICT`,
    `CREATE TABLE stream (
      cursor INTEGER PRIMARY KEY AUTOINCREMENT,
      project_id TEXT NOT NULL,
      topic TEXT NOT NULL,
      type TEXT NOT NULL,
      id TEXT,
      seq INTEGER NOT NULL,
      at TEXT NOT NULL
    ) STRICT`,
    `CREATE TABLE idempotency (
      key TEXT PRIMARY KEY,
      fingerprint TEXT NOT NULL,
      status INTEGER NOT NULL,
      answer TEXT NOT NULL,
      expires_at TEXT NOT NULL
    ) STRICT`,
    "CREATE INDEX idempotency_by_expiry ON idempotency (expires_at)",
  ],
}, {
  version: 2,
  statements: [
    `CREATE TABLE workspaces (
      workspace_id TEXT PRIMARY KEY,
      name TEXT NOT NULL,
      created_at TEXT NOT NULL
    ) STRICT`,
    `CREATE TABLE workspace_projects (
      workspace_id TEXT NOT NULL REFERENCES workspaces (workspace_id),
      project_id TEXT NOT NULL REFERENCES projects (project_id),
      added_at TEXT NOT NULL,
      PRIMARY KEY (workspace_id, project_id)
    ) STRICT`,
    "CREATE INDEX workspace_projects_by_project ON workspace_projects (project_id, workspace_id)",
  ],
}, {
  version: 3,
  statements: [
    // The projects that had actions in an hour, by the first digits of the action ids of that hour.
    // It shows where to look for an action.
    `CREATE TABLE action_times (
      prefix TEXT NOT NULL,
      project_id TEXT NOT NULL,
      PRIMARY KEY (prefix, project_id)
    ) STRICT, WITHOUT ROWID`,
    // 0 until the older actions of the ledger are in `action_times`.
    "ALTER TABLE projects ADD COLUMN is_indexed INTEGER NOT NULL DEFAULT 0",
  ],
}, {
  version: 4,
  statements: [
    // Every change of what a decision needs, oldest first. Older releases, which decide with a token
    // alone, refuse a registry of this version.
    `CREATE TABLE proof_changes (
      number INTEGER PRIMARY KEY,
      data TEXT NOT NULL
    ) STRICT`,
    // The choice of a home that never enrolled a key: "none" or "token".
    `CREATE TABLE proof_start (
      one INTEGER PRIMARY KEY CHECK (one = 1),
      kind TEXT NOT NULL CHECK (kind IN ('none', 'token'))
    ) STRICT`,
    // The signature counter of a passkey, which shows a copied key.
    `CREATE TABLE proof_counters (
      key_id TEXT PRIMARY KEY,
      counter INTEGER NOT NULL
    ) STRICT`,
  ],
}, {
  version: 5,
  statements: [
    // The config of each project, and of the machine (project_id ""): the text that a person
    // accepted, with the proof that signs its hash, and the text that the gate read last.
    `CREATE TABLE configs (
      project_id TEXT PRIMARY KEY,
      path TEXT,
      sha256 TEXT,
      text TEXT,
      accepted_at TEXT,
      accepted_by TEXT,
      proof TEXT,
      -- The accepted version that this one only tightens, when it has no proof of its own.
      base TEXT,
      seen_sha256 TEXT,
      seen_text TEXT,
      changed_at TEXT,
      -- The machine's config that the ledger of this project knows.
      machine_sha256 TEXT
    ) STRICT`,
    // The configs that were accepted when the kind of proof changed, by the hash of the list.
    `CREATE TABLE config_seals (
      sha256 TEXT PRIMARY KEY,
      list TEXT NOT NULL
    ) STRICT`,
    `CREATE TABLE override_trusts (
      project_id TEXT PRIMARY KEY,
      trusted_at TEXT NOT NULL,
      trusted_by TEXT NOT NULL,
      proof TEXT
    ) STRICT`,
  ],
}, {
  version: 6,
  statements: [
    // The first project of each session that a host names in its hooks, by the hash of its name.
    `CREATE TABLE hook_sessions (
      key TEXT PRIMARY KEY,
      project_id TEXT NOT NULL,
      at TEXT NOT NULL
    ) STRICT`,
    "CREATE INDEX hook_sessions_by_time ON hook_sessions (at)",
  ],
}, {
  version: 7,
  statements: [
    // Counts the acceptances of a config, so that an older one is told from the newest.
    "ALTER TABLE configs ADD COLUMN number INTEGER NOT NULL DEFAULT 0",
  ],
}, {
  version: 8,
  statements: [
    // The proof with which a person added the folder to a project, as JSON.
    "ALTER TABLE roots ADD COLUMN proof TEXT",
  ],
}, {
  version: 9,
  statements: [
    // The team and the approval routes as a person accepted them. `number` counts the changes.
    `CREATE TABLE kept_lists (
      name TEXT PRIMARY KEY,
      number INTEGER NOT NULL,
      items TEXT NOT NULL,
      proof TEXT
    ) STRICT`,
    // The changes of these lists, for the ledgers that were closed meanwhile.
    `CREATE TABLE kept_changes (
      name TEXT NOT NULL,
      number INTEGER NOT NULL,
      type TEXT NOT NULL,
      by TEXT NOT NULL,
      data TEXT NOT NULL,
      PRIMARY KEY (name, number)
    ) STRICT, WITHOUT ROWID`,
  ],
}, {
  version: 10,
  statements: [
    // The agents' sessions that have ended, as JSON.
    `CREATE TABLE agent_history (
      agent TEXT NOT NULL,
      session_id TEXT NOT NULL,
      ended_at TEXT NOT NULL,
      session TEXT NOT NULL,
      PRIMARY KEY (agent, session_id)
    ) STRICT, WITHOUT ROWID`,
    "CREATE INDEX agent_history_by_end ON agent_history (ended_at)",
    "CREATE INDEX agent_history_by_agent ON agent_history (agent, ended_at)",
    // Child processes of agents that listen on ports, to recognize them when their session is gone.
    `CREATE TABLE agent_ports (
      pid INTEGER NOT NULL,
      start_time TEXT NOT NULL,
      boot_id TEXT NOT NULL,
      ports TEXT NOT NULL,
      agent TEXT NOT NULL,
      session_id TEXT NOT NULL,
      project_id TEXT,
      first_seen_at TEXT NOT NULL,
      PRIMARY KEY (pid, start_time)
    ) STRICT, WITHOUT ROWID`,
  ],
}, {
  version: 11,
  statements: [
    // The news for the receivers of the global config. A receiver gets each event once.
    `CREATE TABLE notifications (
      id TEXT PRIMARY KEY,
      receiver_id TEXT NOT NULL,
      project_id TEXT NOT NULL,
      seq INTEGER NOT NULL,
      message TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('waiting', 'sent', 'dead')),
      attempts INTEGER NOT NULL,
      next_at TEXT,
      error TEXT,
      created_at TEXT NOT NULL,
      done_at TEXT,
      UNIQUE (project_id, seq, receiver_id)
    ) STRICT`,
    "CREATE INDEX notifications_by_state ON notifications (state, receiver_id, next_at)",
    "CREATE INDEX notifications_by_end ON notifications (state, done_at)",
    // The last event of the stream that was turned into news.
    `CREATE TABLE notifications_cursor (
      one INTEGER PRIMARY KEY CHECK (one = 1),
      cursor INTEGER NOT NULL
    ) STRICT`,
  ],
}, {
  version: 12,
  statements: [
    // The files of a session that a person has viewed, each as it was then.
    `CREATE TABLE viewed_files (
      member_id TEXT NOT NULL,
      session_id TEXT NOT NULL,
      path TEXT NOT NULL,
      before_sha256 TEXT,
      after_sha256 TEXT,
      at TEXT NOT NULL,
      PRIMARY KEY (member_id, session_id, path)
    ) STRICT, WITHOUT ROWID`,
    "CREATE INDEX viewed_files_by_time ON viewed_files (member_id, at)",
  ],
}];
