import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { gunzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { checkProjections } from "../../../server/audit/projections_check.ts";
import { redactEvent } from "../../../server/audit/redact.ts";
import { Signer } from "../../../server/audit/signer.ts";
import { verifyChain } from "../../../server/audit/verify.ts";
import { readBlob } from "../../../server/db/blobs.ts";
import { sha256 } from "../../../server/db/chain.ts";
import { Database } from "../../../server/db/database.ts";
import { LEDGER_MIGRATIONS } from "../../../server/db/ledger_migrations.ts";
import type { Row } from "../../../server/db/ledger.ts";
import { openLedger } from "../../../server/db/open_ledger.ts";

/**
 * Ledgers that releases of these schemas wrote: 21 actions of one session (allowed, blocked, approved,
 * edited, rejected, rolled back and held ones), with their derived tables caught up.
 */
const FOLDER = join(import.meta.dirname!, "older_ledgers");
const OLDER = readdirSync(FOLDER).map((name) => Number(/^schema_(\d+)\.db\.gz$/.exec(name)![1]))
  .sort((a, b) => a - b);

/** Everything that a migration must keep: the records, the chain, and what is counted from them. */
const KEPT = [
  ...["sessions", "actions", "audit", "checkpoints", "intents"],
  ...["daily_counts", "daily_latencies", "rule_hits", "action_hours"],
  ...["grants", "held_paths", "blocks"],
];

type Read = (sql: string) => Promise<Row[]>;

/** A folder with a copy of the ledger of that schema. */
function copyOf(schema: number): string {
  const folder = mkdtempSync(join(tmpdir(), "gate-older-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = readFileSync(join(FOLDER, `schema_${schema}.db.gz`));
  writeFileSync(join(folder, "ledger.db"), gunzipSync(file));
  return folder;
}

async function openIn(folder: string) {
  const signer = Signer.open(folder);
  const { ledger, moved_to } = await openLedger({
    ...{ project_id: "old", folder, pid: process.pid, now: Date.now, redact: redactEvent },
    ...{ sign: (head) => signer.sign(head), publish: () => {}, noteDurable: () => {} },
  });
  onTestFinished(() => ledger.close());
  return { ledger, moved_to, signer };
}

test.each(OLDER)(
  "a ledger of schema %i keeps every record and count when it is migrated",
  async (schema) => {
    const folder = copyOf(schema);
    const { ledger, moved_to, signer } = await openIn(folder);
    await ledger.catchUp();
    const now: Read = (sql) => ledger.all(sql);
    const older = await Database.open(join(folder, `ledger.db.backup-${schema}`));
    onTestFinished(() => older.close());
    const then: Read = (sql) => older.all(sql);

    const newest = "SELECT max(version) AS version FROM migrations";
    expect([await then(newest), await now(newest)]).toEqual([
      [{ version: schema }],
      [{ version: LEDGER_MIGRATIONS.at(-1)!.version }],
    ]);
    expect(moved_to).toBe(null);
    const columns = await columnsOfBoth(then, now);
    const before = await rowsOf(then, columns);
    expect([...columns.keys()]).toEqual(expect.arrayContaining(KEPT.slice(0, 7)));
    expect(before.actions!.length).toBe(21);
    const after = await rowsOf(now, columns);
    for (const table of columns.keys()) expect(after[table], table).toEqual(before[table]);
    const [head] = await then("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1");
    expect(ledger.head).toEqual(head);

    const sizes = "SELECT sha256, bytes FROM blobs ORDER BY sha256";
    const contents = await then(sizes);
    expect(await now(sizes)).toEqual(contents);
    expect(contents.length).toBeGreaterThan(10);
    for (const { sha256: hash } of contents) {
      expect(sha256((await readBlob(ledger, String(hash)))!)).toBe(hash);
    }
    // Recounts every derived table, also those that the older schema did not have.
    expect(await verifyChain(ledger, { public_key: signer.public_key, remembered: null }))
      .toMatchObject({ ok: true, problem: null, events: Number(head!.seq) });
  },
);

test("an older ledger in which actions have other numbers than places is put in order", async () => {
  const folder = copyOf(25);
  const older = await Database.open(join(folder, "ledger.db"));
  const columns = await older.all(
    "SELECT name FROM pragma_table_info('actions') WHERE name NOT IN ('number', 'id', 'seq')",
  );
  const others = columns.map(({ name }) => name).join(", ");
  await older.batch([
    ...["UPDATE actions SET number = -seq", "UPDATE actions SET number = 22 - seq"],
    // The counts have not followed these yet.
    `INSERT INTO actions (id, seq, ${others}) SELECT 'late' || seq, 21 + seq, ${others}
      FROM actions WHERE seq <= 3 ORDER BY seq`,
  ].map((sql) => ({ sql, args: [] })));
  const ids = await older.all("SELECT id FROM actions ORDER BY seq");
  await older.close();
  const { ledger } = await openIn(folder);
  expect(await ledger.all("SELECT id FROM actions WHERE number = seq ORDER BY number")).toEqual(
    ids,
  );
  expect(ids.length).toBe(24);
  expect(await ledger.all("SELECT action_count FROM sessions")).toEqual([{ action_count: 24 }]);
  expect(await checkProjections(ledger)).toBe(null);
});

/** The columns of each kept table that has them before and after. */
async function columnsOfBoth(then: Read, now: Read): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  for (const table of KEPT) {
    const sql = `SELECT name FROM pragma_table_info('${table}') ORDER BY name`;
    const names = (await now(sql)).map(({ name }) => String(name));
    const both = (await then(sql)).map(({ name }) => String(name))
      .filter((name) => names.includes(name));
    if (both.length > 0) found.set(table, both);
  }
  return found;
}

async function rowsOf(
  read: Read,
  columns: ReadonlyMap<string, string[]>,
): Promise<Record<string, Row[]>> {
  const found: Record<string, Row[]> = {};
  for (const [table, names] of columns) {
    const list = names.join(", ");
    found[table] = await read(`SELECT ${list} FROM ${table} ORDER BY ${list}`);
  }
  return found;
}
