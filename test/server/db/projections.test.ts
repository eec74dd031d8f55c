import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { Connection } from "../../../server/db/connection.ts";
import { Database } from "../../../server/db/database.ts";
import type { Row, Statement } from "../../../server/db/ledger.ts";
import { LEDGER_MIGRATIONS } from "../../../server/db/ledger_migrations.ts";
import { migrate } from "../../../server/db/migrate.ts";
import { projectSome } from "../../../server/db/projections.ts";
import { openGate, reviewer } from "../actions/harness.ts";
import { createRandom } from "../../random.ts";

type Read = (sql: string) => Promise<Row[]>;

/** Everything that is counted, as sorted rows. */
async function countsIn(read: Read) {
  const tables = ["daily_counts", "daily_latencies", "rule_hits", "action_hours"];
  const counted = await Promise.all(tables.map((name) => read(`SELECT * FROM ${name}`)));
  const sessions = await read(
    `SELECT id, action_count, pending_count, done_count, rolled_back_count, last_seen_at
      FROM sessions ORDER BY id`,
  );
  return { counted, sessions };
}

/** The index tables must hold exactly these rows. */
async function listsIn(read: Read) {
  const listed = await read("SELECT name, value, seq FROM action_index ORDER BY name, value, seq");
  const events = await read("SELECT name, value, seq FROM audit_index ORDER BY name, value, seq");
  const of = (table: string, names: string[]) =>
    read(
      `SELECT * FROM (${
        names.map((name) =>
          `SELECT '${name}' AS name, ${name} AS value, seq FROM ${table} WHERE ${name} IS NOT NULL`
        ).join(" UNION ALL ")
      }) ORDER BY name, value, seq`,
    );
  return {
    found: { listed, events },
    expected: {
      listed: await of("actions", ["agent", "path", "session_id", "tool"]),
      events: await of("audit", ["at", "session_id"]),
    },
  };
}

const LATER_COLUMNS = [
  ["sessions", "branch"],
  ["sessions", "machine"],
  ["actions", "lines"],
] as const;

/** Repeats the statements on the schema of version 16, whose triggers counted in each commit. */
async function countedByTriggers(statements: Statement[]): Promise<Database> {
  const folder = mkdtempSync(join(tmpdir(), "gate-projections-"));
  const database = await Database.open(join(folder, "ledger.db"));
  onTestFinished(async () => {
    await database.close();
    rmSync(folder, { recursive: true, force: true });
  });
  await migrate(database, LEDGER_MIGRATIONS.slice(0, 16), Date.now);
  // The statements of today name columns that nothing counts and that version 16 did not have.
  for (const [table, column] of LATER_COLUMNS) {
    await database.all(`ALTER TABLE ${table} ADD COLUMN ${column} TEXT`);
  }
  for (const statement of statements) await database.batch([statement], { is_synced: false });
  for (const [table, column] of LATER_COLUMNS) {
    await database.all(`ALTER TABLE ${table} DROP COLUMN ${column}`);
  }
  return database;
}

async function projectAll(database: Database): Promise<void> {
  for (let isBehind = true; isBehind;) {
    const rows = await database.batch(projectSome());
    isBehind = rows.some((of) => Number(of.at(-1)?.is_behind) === 1);
  }
}

test.each([1, 2, 3])(
  "projections equal what triggers counted in each commit, also after a migration (seed %i)",
  async (seed) => {
    const random = createRandom(seed);
    const pick = <T>(all: readonly T[]) => all[random(all.length)]!;
    const kept: Statement[] = [];
    const { batch } = Connection.prototype;
    const spy = vi.spyOn(Connection.prototype, "batch").mockImplementation(
      function (this: Connection, statements, options) {
        const rows = batch.call(this, statements, options);
        kept.push(
          ...statements.filter(({ sql }) =>
            /^\s*(?:INSERT INTO|UPDATE) (?:actions|sessions)\b/.test(sql)
          ),
        );
        return rows;
      },
    );
    onTestFinished(() => spy.mockRestore());
    const { gate, actions, write, back } = await openGate({
      policies: { defaultEffect: "allow", askPaths: ["held/**"], blockedPaths: [".env"] },
    });
    const read: Read = (sql) => gate.project.ledger.all(sql);
    const ids: string[] = [];
    const { id } = await write("held/first.txt", "");
    await actions.approve(id, {}, reviewer);
    for (let step = 0; step < 40; step++) {
      gate.clock.advance(random(40) * 60_000);
      const refused = (error: unknown) => expect(error).toMatchObject({ code: "conflict" });
      const path = pick(["a.txt", "b.txt", "held/c.txt", ".env"]);
      const { id } = await write(path, `${step}`);
      ids.push(id);
      const some = pick(ids);
      switch (random(6)) {
        case 0:
          await actions.approve(some, {}, reviewer).catch(refused);
          break;
        case 1:
          await actions.reject(some, { reason: "no" }, reviewer).catch(refused);
          break;
        case 2:
          await back(some, { on_conflict: "force" }).catch(refused);
          break;
        case 3:
          // Some actions are counted before they change, others after it.
          await gate.project.ledger.catchUp();
      }
    }
    // The outcome of the last write may run behind its answer.
    await gate.project.ledger.catchUp();
    const older = await countedByTriggers([...kept]);
    const before = await countsIn((sql) => older.all(sql));
    expect(before.counted.every((rows) => rows.length > 0)).toBe(true);
    expect(await countsIn(read)).toEqual(before);
    const { found, expected } = await listsIn(read);
    expect(found).toEqual(expected);

    await migrate(older, LEDGER_MIGRATIONS, Date.now);
    expect(await countsIn((sql) => older.all(sql))).toEqual(before);
    await projectAll(older);
    expect(await countsIn((sql) => older.all(sql))).toEqual(before);
    const migrated = await listsIn((sql) => older.all(sql));
    expect(migrated.found).toEqual(migrated.expected);
    expect(migrated.found.listed).toEqual(found.listed);
  },
);
