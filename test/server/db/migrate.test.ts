import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { VERSION } from "../../../server/constants.ts";
import { Database } from "../../../server/db/database.ts";
import { LEDGER_MIGRATIONS, OPEN_ACTION, RARE } from "../../../server/db/ledger_migrations.ts";
import { migrate, type Migration } from "../../../server/db/migrate.ts";
import { OF_SESSION } from "../../../server/db/projections.ts";
import { REGISTRY_MIGRATIONS } from "../../../server/db/registry_migrations.ts";

const now = () => Date.UTC(2026, 0, 1);
const STEPS: Migration[] = [
  { version: 1, statements: ["CREATE TABLE a (n INTEGER) STRICT", "INSERT INTO a VALUES (1)"] },
  { version: 2, statements: ["ALTER TABLE a ADD COLUMN m INTEGER", "UPDATE a SET m = n + 1"] },
];
/** Tables about the file or the machine, which have no project. */
const MACHINE_WIDE = [
  "agent_history",
  "projected",
  "notifications_cursor",
  "kept_changes",
  "kept_lists",
  "config_seals",
  "proof_changes",
  "proof_counters",
  "proof_start",
  "migrations",
  "idempotency",
  "viewed_files", // those of a person, whatever the project
  "workspaces",
];
const FIRST = STEPS.slice(0, 1);

function makePath(): string {
  const folder = mkdtempSync(join(tmpdir(), "gate-migrate-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "a.db");
}

async function openAt(path: string): Promise<Database> {
  const database = await Database.open(path);
  onTestFinished(() => database.close());
  return database;
}

test("migrate() brings a new file to the newest version without a backup", async () => {
  const database = await openAt(makePath());
  await migrate(database, STEPS, now);
  expect(await database.all("SELECT * FROM a")).toEqual([{ n: 1, m: 2 }]);
  expect(await database.all("SELECT version, made_by FROM migrations")).toEqual([
    { version: 1, made_by: VERSION },
    { version: 2, made_by: VERSION },
  ]);
  expect(existsSync(`${database.path}.backup-1`)).toBe(false);
});

test("migrate() backs up an older file once and migrates it once", async () => {
  const database = await openAt(makePath());
  await migrate(database, FIRST, now);
  await migrate(database, STEPS, now);
  await migrate(database, STEPS, now);
  expect(await database.all("SELECT * FROM a")).toEqual([{ n: 1, m: 2 }]);
  const backup = await openAt(`${database.path}.backup-1`);
  expect(await backup.all("SELECT * FROM a")).toEqual([{ n: 1 }]);
});

test("migrate() refuses a newer schema, names both versions and leaves the file unchanged", async () => {
  const path = makePath();
  const newer = await openAt(path);
  await migrate(newer, STEPS, now);
  await newer.batch([{ sql: "UPDATE migrations SET made_by = '9.9.9'", args: [] }]);
  await newer.close();
  const before = readFileSync(path);
  const database = await openAt(path);
  await expect(migrate(database, FIRST, now)).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringMatching(new RegExp(`9\\.9\\.9.*schema 2.*${VERSION}.*schema 1`)),
  });
  await database.close();
  expect(readFileSync(path).equals(before)).toBe(true);
});

test("a failed migration leaves the previous version intact", async () => {
  const database = await openAt(makePath());
  const broken = [...FIRST, { version: 2, statements: ["DROP TABLE a", "NO SQL"] }];
  await expect(migrate(database, broken, now)).rejects.toThrow("syntax");
  expect(await database.all("SELECT * FROM a")).toEqual([{ n: 1 }]);
  await migrate(database, STEPS, now);
  expect(await database.all("SELECT * FROM a")).toEqual([{ n: 1, m: 2 }]);
});

/** A ledger with very many events keeps its tables and indexes. */
const KEPT_TABLES = LEDGER_MIGRATIONS.map((migration) =>
  migration.only_if === undefined ? migration : { ...migration, statements: [] }
);

test.each([["ledger", LEDGER_MIGRATIONS], ["registry", REGISTRY_MIGRATIONS]])(
  "each table of the %s is STRICT and has project_id, and the versions count up",
  async (_name, migrations) => {
    const database = await openAt(makePath());
    await migrate(database, migrations, now);
    const tables = await database.all(
      "SELECT name, strict FROM pragma_table_list WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
    );
    const columns = await database.all(
      `SELECT t.name FROM pragma_table_list t, pragma_table_info(t.name) c
        WHERE c.name = 'project_id'`,
    );
    const withProject = columns.map(({ name }) => name);
    for (const { name, strict } of tables) {
      expect({ name, strict }).toEqual({ name, strict: 1 });
      if (!MACHINE_WIDE.includes(String(name))) expect(withProject).toContain(name);
    }
    expect(migrations.map(({ version }) => version)).toEqual(migrations.map((_, i) => i + 1));
  },
);

test.each([
  [
    "actions of a project",
    `SELECT * FROM actions NOT INDEXED WHERE project_id = ? AND number < ?
      ORDER BY number DESC LIMIT 50`,
    "SEARCH actions USING INTEGER PRIMARY KEY (rowid<?)",
  ],
  [
    "actions by status",
    `SELECT * FROM actions WHERE project_id = ? AND status = ? AND ${RARE.status} AND seq < ?
      ORDER BY seq DESC LIMIT 50`,
    "actions_by_status",
  ],
  [
    "actions by execution",
    `SELECT * FROM actions WHERE project_id = ? AND execution = ? AND ${RARE.execution} AND seq < ?
      ORDER BY seq DESC LIMIT 50`,
    "actions_by_execution",
  ],
  [
    "actions by decider",
    `SELECT * FROM actions WHERE project_id = ? AND decided_by = ? AND ${RARE.decided_by}
      AND seq < ? ORDER BY seq DESC LIMIT 50`,
    "actions_by_decider",
  ],
  [
    "actions by risk",
    `SELECT * FROM actions WHERE project_id = ? AND json_extract(risk, '$.level') = ?
      AND ${RARE.risk} AND seq < ? ORDER BY seq DESC LIMIT 50`,
    "actions_by_risk",
  ],
  [
    "actions of a session",
    `SELECT actions.* FROM ${OF_SESSION} WHERE place < ? ORDER BY place DESC LIMIT 50`,
    "SEARCH action_index USING PRIMARY KEY (project_id=? AND name=? AND value=? AND seq<?)",
  ],
  [
    "one action",
    "SELECT * FROM actions WHERE project_id = ? AND id = ?",
    "sqlite_autoindex_actions_1",
  ],
  [
    "pending count",
    "SELECT count(*) FROM actions INDEXED BY actions_unfinished WHERE project_id = ? AND status = 'pending'",
    "actions_unfinished",
  ],
  [
    "unfinished actions",
    "SELECT id FROM actions WHERE project_id = ? AND (status = 'pending' OR execution = 'running')",
    "actions_unfinished",
  ],
  [
    "sessions of a project",
    "SELECT * FROM sessions WHERE project_id = ? AND seq < ? ORDER BY seq DESC LIMIT 50",
    "sessions_by_seq",
  ],
  [
    "events in order",
    "SELECT * FROM audit WHERE project_id = ? AND seq > ? ORDER BY seq LIMIT 500",
    "SEARCH audit USING INTEGER PRIMARY KEY (rowid>?)",
  ],
  [
    "events of an action",
    "SELECT * FROM audit WHERE project_id = ? AND action_id = ? ORDER BY seq",
    "audit_by_action",
  ],
  [
    "the open actions with a digest",
    `SELECT id FROM actions WHERE project_id = ? AND digest = ? AND session_id = ?
      AND created_at >= ? AND ${OPEN_ACTION}
      AND (status = 'pending' OR (tool <> 'write_file' AND decided_by <> 'policy'))`,
    "actions_open",
  ],
  [
    "unfinished actions",
    `SELECT 1 FROM actions
      WHERE project_id = ? AND (status = 'pending' OR execution = 'running') LIMIT 1`,
    "actions_unfinished",
  ],
  [
    "pending actions",
    "SELECT id FROM actions WHERE project_id = ? AND status = 'pending' ORDER BY seq LIMIT 10000",
    "actions_unfinished",
  ],
  [
    "events of a session",
    `SELECT * FROM audit_index CROSS JOIN audit USING (project_id, seq)
      WHERE project_id = ? AND name = ? AND value = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?`,
    "SEARCH audit_index USING PRIMARY KEY (project_id=? AND name=? AND value=? AND seq>? AND seq<?)",
  ],
  [
    "events of a type",
    `SELECT * FROM audit WHERE project_id = ? AND type = ? AND ${RARE.type} ORDER BY seq`,
    "audit_by_type",
  ],
  [
    "events of a time",
    `SELECT * FROM audit_index CROSS JOIN audit USING (project_id, seq)
      WHERE project_id = ? AND name = ? AND (value, seq) > (?, ?) AND value < ?
      ORDER BY value, seq LIMIT ?`,
    "SEARCH audit_index USING PRIMARY KEY (project_id=? AND name=? AND",
  ],
  [
    "actions of an agent",
    `SELECT actions.* FROM action_index AS listed
      CROSS JOIN actions ON actions.number = listed.number
      WHERE listed.project_id = ? AND listed.name = ? AND listed.value = ? AND listed.seq < ?
      ORDER BY listed.seq DESC LIMIT 50`,
    "SEARCH listed USING PRIMARY KEY (project_id=? AND name=? AND value=? AND seq<?)",
  ],
  [
    "the intents of an action",
    "SELECT * FROM intents WHERE project_id = ? AND action_id = ?",
    "intents_by_action",
  ],
  [
    "the last change of a path",
    `SELECT action_id FROM intents WHERE project_id = ? AND path = ? AND state = 'done'
      ORDER BY created_at DESC, started_seq DESC LIMIT 1`,
    "intents_by_path",
  ],
])("%s: the query uses an index and needs no sort", async (_name, sql, index) => {
  const database = await openAt(makePath());
  await migrate(database, LEDGER_MIGRATIONS, now);
  const args = Array.from(sql.matchAll(/\?/g), () => 1);
  const planIn = async (one: Database) =>
    (await one.all(`EXPLAIN QUERY PLAN ${sql}`, args)).map(({ detail }) => detail).join("\n");
  expect(await planIn(database)).toContain(index);
  const large = await openAt(makePath());
  await migrate(large, KEPT_TABLES, now);
  expect(await planIn(database)).not.toMatch(/SCAN|TEMP B-TREE/);
  // Its intents of one millisecond are sorted by their place in the chain.
  expect(await planIn(large)).not.toMatch(/SCAN|TEMP B-TREE(?! FOR RIGHT PART OF ORDER BY)/);
});

test("an action that another program inserts gets no number but its place", async () => {
  const database = await openAt(makePath());
  await migrate(database, LEDGER_MIGRATIONS, now);
  const insert = (place: string) =>
    database.batch([{
      sql: `INSERT INTO actions (${place}, project_id, id, root, session_id, agent, tool, status,
        execution, decision, risk, reversible, digest, created_at) SELECT 1, ${
        place === "seq" ? "" : "2, "
      }'p', 'i', '/', id, 'a', 't', 'pending', 'none', '{}', '{}', 0, 'd', '2026' FROM sessions`,
      args: [],
    }]);
  await database.batch([{
    sql: `INSERT INTO sessions (project_id, id, seq, root, host, agent, client, started_at,
      last_seen_at) VALUES ('p', 's', 1, '/', 'h', 'a', 'c', '2026', '2026')`,
    args: [],
  }]);
  await expect(insert("number, seq")).rejects.toThrow("the number of an action is its place");
  await insert("seq");
  expect(await database.all("SELECT number, seq FROM actions")).toEqual([{ number: 1, seq: 1 }]);
});

test("an older ledger loses the unused columns and keeps its actions", async () => {
  const database = await openAt(makePath());
  await migrate(database, LEDGER_MIGRATIONS.slice(0, 6), now);
  await database.batch([
    {
      sql: `INSERT INTO sessions (project_id, id, seq, root, host, agent, client, started_at,
        last_seen_at) VALUES ('p', 's', 1, '/', 'h', 'a', 'c', '2026', '2026')`,
      args: [],
    },
    {
      sql: `INSERT INTO actions (project_id, id, seq, root, session_id, agent, tool, path, status,
        execution, decision, risk, reversible, digest, created_at) VALUES ('p', 'i', 1, '/', 's',
        'a', 'write_file', 'a.txt', 'pending', 'none', '{}', '{}', 0, 'd', '2026-01-01')`,
      args: [],
    },
  ]);
  await migrate(database, LEDGER_MIGRATIONS, now);
  const columns = (await database.all("PRAGMA table_info(actions)")).map(({ name }) => name);
  expect(columns).not.toEqual(expect.arrayContaining(["content_sha256"]));
  expect(columns).not.toContain("before_mode");
  expect(columns).not.toContain("result");
  expect(await database.all("SELECT id, path, status FROM actions")).toEqual([
    { id: "i", path: "a.txt", status: "pending" },
  ]);
  await database.batch([{ sql: "UPDATE actions SET status = 'approved'", args: [] }]);
});

test("an older ledger keeps its chain, byte for byte and in the order of writing", async () => {
  const database = await openAt(makePath());
  await migrate(database, LEDGER_MIGRATIONS.slice(0, 10), now);
  // The third event was written last, and the texts of the second are not UTF-8.
  const events = [[1, "x'61'"], [2, "x'ff'"], [4, "x'63'"], [3, "x'64'"]] as const;
  await database.batch(events.map(([seq, byte]) => ({
    sql: `INSERT INTO audit (project_id, seq, at, session_id, action_id, type, actor, data,
      prev_hash, hash) VALUES ('p', ?, '2026', 's', NULL, 't', '{}', CAST(${byte} AS TEXT), ?, ?)`,
    args: [seq, `h${seq - 1}`, `h${seq}`],
  })));
  const rows = () =>
    database.all(`SELECT rowid, seq, at, session_id, action_id, type, hex(data) AS data, prev_hash,
      hash FROM audit NOT INDEXED ORDER BY rowid`);
  const before = await rows();
  expect(before.map(({ data }) => data)).toEqual(["61", "FF", "63", "64"]);
  await migrate(database, LEDGER_MIGRATIONS, now);
  expect(await rows()).toEqual(before);

  const add = (seq: number, prev: string) =>
    database.batch([{
      sql: `INSERT INTO audit (project_id, seq, at, type, actor, data, prev_hash, hash)
        VALUES ('p', ?, '2026', 't', '{}', '{}', ?, 'h')`,
      args: [seq, prev],
    }]);
  // Two writers that follow the same event both number theirs as its successor.
  await expect(add(4, "h3")).rejects.toThrow(/UNIQUE constraint failed: audit\./);
  await add(5, "h4");
  for (const sql of ["UPDATE audit SET data = '{}'", "DELETE FROM audit"]) {
    await expect(database.all(sql)).rejects.toThrow(/append-only/);
  }
  expect(await rows()).toHaveLength(5);
});

test("migrate() leaves a newer schema alone that only adds, and refuses one that says so falsely", async () => {
  const database = await openAt(makePath());
  const version = LEDGER_MIGRATIONS.at(-1)!.version + 1;
  const add = "ALTER TABLE sessions ADD COLUMN later TEXT";
  const adding = (statements: string[]) => [
    ...LEDGER_MIGRATIONS,
    { version, is_additive: true, statements },
  ];
  for (const more of ["UPDATE sessions SET later = 1", "DROP TABLE grants", "CREATE TRIGGER a"]) {
    await expect(migrate(database, adding([add, more]), now)).rejects.toThrow("is not additive");
  }
  await migrate(database, adding([add]), now);
  await migrate(database, LEDGER_MIGRATIONS, now);
  const [newest] = await database.all("SELECT version, needs FROM migrations WHERE version = ?", [
    version,
  ]);
  expect(newest).toEqual({ version, needs: 0 });
});

test("a ledger with very many events keeps its chain as it is", async () => {
  const database = await openAt(makePath());
  await migrate(database, LEDGER_MIGRATIONS.slice(0, 10), now);
  const insert = (rowid: number) => ({
    sql: `INSERT INTO audit (rowid, project_id, seq, at, type, actor, data, prev_hash, hash)
      VALUES (?, 'p', ?, '2026', 't', '{}', '{}', ?, ?)`,
    args: [rowid, rowid, `h${rowid - 1}`, `h${rowid}`],
  });
  await database.batch([insert(100_001)]);
  await migrate(database, LEDGER_MIGRATIONS, now);
  const indexes = await database.all(
    "SELECT name FROM sqlite_schema WHERE tbl_name = 'audit' AND type = 'index' ORDER BY name",
  );
  expect(indexes.map(({ name }) => name)).toEqual([
    ...["audit_by_action", "audit_by_type"],
    ...["sqlite_autoindex_audit_1", "sqlite_autoindex_audit_2"],
  ]);
  await database.batch([insert(100_002)]);
  const [newest] = await database.all("SELECT max(version) AS version FROM migrations");
  expect(newest).toEqual({ version: LEDGER_MIGRATIONS.at(-1)!.version });
});
