import { closeSync, cpSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { expect, test } from "vitest";
import { verifyChain } from "../../../server/audit/verify.ts";
import { Database } from "../../../server/db/database.ts";
import type { Ledger, Row, Value } from "../../../server/db/ledger.ts";
import { createTestGate, testCaller } from "../../helpers.ts";
import { chooseSeed, createRandom } from "../../random.ts";

const EVENTS = 120;
const CHANGES = 1_000;
const COLUMNS = [
  "project_id",
  "seq",
  "at",
  "session_id",
  "action_id",
  "type",
  "actor",
  "data",
  "prev_hash",
  "hash",
];

/** Writes a ledger with events of many shapes. Returns the path of a clean copy, and its rows. */
async function closedLedger(): Promise<{ path: string; rows: Row[] }> {
  const gate = await createTestGate();
  const { id } = await gate.project.sessions.open({ agent: "codex" }, testCaller());
  for (let n = 1; n < EVENTS; n++) {
    await gate.project.ledger.commit({
      statements: [],
      events: [{
        session_id: n % 4 ? id : null,
        action_id: n % 3 ? crypto.randomUUID() : null,
        type: "action.conflicted",
        actor: { kind: "agent", id: "codex" },
        data: { path: `src/ä${n}.ts`, n },
      }],
    });
  }
  const rows = await gate.project.ledger.all("SELECT * FROM audit ORDER BY seq");
  await gate.project.ledger.catchUp();
  // A split page keeps old bytes. VACUUM writes a file that holds each row once.
  const path = join(gate.home, "clean.db");
  await gate.project.ledger.all("VACUUM INTO ?", [path]);
  return { path, rows };
}

/** The bytes that SQLite stores for a text or a one-byte number. */
function bytesOf(value: Value): Uint8Array {
  if (value === null) return new Uint8Array();
  if (typeof value === "number") return value < 2 ? new Uint8Array() : Uint8Array.of(value);
  return new TextEncoder().encode(String(value));
}

const NOTHING = new Uint8Array();

/** Where the last byte of a row's number is: before the header, which begins with its length. */
function keyBefore(file: Buffer, start: number): number {
  const header = Array.from({ length: 40 }, (_, n) => n + COLUMNS.length)
    .find((length) => file[start - length] === length)!;
  return start - header - 1;
}

interface Place {
  seq: number;
  column: string;
  /** The offsets in the file; more than one when a split page has kept old bytes. */
  from: number[];
  length: number;
}

/** The place of each value of each row in the database file. */
function placesOf(path: string, rows: Row[]): Place[] {
  const file = readFileSync(path);
  return rows.flatMap((row) => {
    const values = COLUMNS.map((column) => column === "seq" ? NOTHING : bytesOf(row[column]!));
    // The joined values of a row occur only in the row itself.
    const whole = Buffer.concat(values);
    const starts: number[] = [];
    for (let at = file.indexOf(whole); at >= 0; at = file.indexOf(whole, at + 1)) starts.push(at);
    expect(starts.length, `event ${row.seq}`).toBeGreaterThan(0);
    let offset = 0;
    return COLUMNS.map((column, index) => {
      if (column === "seq") {
        const from = starts.map((start) => keyBefore(file, start));
        return { seq: Number(row.seq), column, from, length: 1 };
      }
      const { length } = values[index]!;
      offset += length;
      const from = starts.map((start) => start + offset - length);
      return { seq: Number(row.seq), column, from, length };
    });
  });
}

test("verify() finds each of 1,000 changed bytes of the file and names its event", async () => {
  const { path, rows } = await closedLedger();
  const places = placesOf(path, rows).filter(({ length }) => length > 0);
  expect(new Set(places.map(({ column }) => column))).toEqual(new Set(COLUMNS));
  const seed = chooseSeed(process.env);
  console.log(`GATE_SEED=${seed}`);
  const random = createRandom(seed);
  const head = { seq: EVENTS, hash: String(rows.at(-1)!.hash) };
  const missed: string[] = [];
  for (let n = 0; n < CHANGES; n++) {
    // Every column has equal weight, and so has every byte of a value.
    const some = places.filter(({ column }) => column === COLUMNS[n % COLUMNS.length]);
    const { seq, column, from, length } = some[random(some.length)]!;
    const at = random(length);
    // A name of its own: on Bun a closed connection keeps its locks until it is collected.
    const copy = `${path}.${n}`;
    cpSync(path, copy);
    const byte = flip(copy, from.map((start) => start + at), 1 + random(255));
    const found = await check(copy, head);
    rmSync(copy);
    // A changed number is another row's, or no row of the tree: any event may be named.
    if (column === "seq" ? found === null : found !== seq) {
      missed.push(`seed ${seed}: byte ${at} (${column} of ${seq}) = ${byte}: ${found}`);
    }
  }
  expect(missed).toEqual([]);
  expect(await check(path, head)).toBeNull();
});

function flip(path: string, places: number[], by: number): number {
  const byte = (readFileSync(path)[places[0]!]! + by) % 256;
  const file = openSync(path, "r+");
  for (const place of places) writeSync(file, Uint8Array.of(byte), 0, 1, place);
  closeSync(file);
  return byte;
}

/** The number of the first event that fails verification; null when all pass. */
async function check(path: string, head: { seq: number; hash: string }): Promise<number | null> {
  const database = await Database.open(path);
  const ledger: Pick<Ledger, "project_id" | "head" | "all" | "catchUp" | "sync"> = {
    project_id: "test",
    head,
    all: (sql, args) => database.all(sql, args),
    // The projections had caught up before the file was copied.
    catchUp: () => Promise.resolve(),
    sync: () => Promise.resolve(),
  };
  const { ok, problem } = await verifyChain(ledger as Ledger, { public_key: "", remembered: null });
  await database.close();
  expect(ok).toBe(problem === null);
  return problem?.seq ?? null;
}

test.each(["hash", "data", "at", "actor"])(
  "the gate opens and names the newest event when its %s is no valid text",
  async (column) => {
    const gate = await createTestGate();
    // A new time keeps the changed value out of every other table.
    gate.clock.advance(1);
    const actor = { kind: "agent" as const, id: "codex" };
    const event = { session_id: null, action_id: null, type: "action.submitted" as const, actor };
    for (let n = 0; n < 3; n++) {
      await gate.project.ledger.commit({ statements: [], events: [{ ...event, data: { n } }] });
    }
    const [row] = await gate.project.ledger.all(
      `SELECT ${column} AS text FROM audit WHERE seq = 3`,
    );
    await gate.daemon.close();
    const path = join(gate.home, "projects", "test", "ledger.db");
    const file = readFileSync(path);
    const text = Buffer.from(String(row!.text));
    const places: number[] = [];
    for (let at = file.indexOf(text); at >= 0; at = file.indexOf(text, at + 1)) places.push(at);
    flip(path, places, 0xff - text[0]!);
    await gate.open();
    expect((await gate.daemon.status()).problems).toEqual([expect.stringContaining("event 3")]);
    // The three events share their agent and time, so these values also change in the first event.
    const seq = column === "at" || column === "actor" ? 1 : 3;
    expect(await gate.project.audit.verify()).toMatchObject({ ok: false, problem: { seq } });
    const exported = (format: string) =>
      gate.request("GET", `/api/audit/export?format=${format}`).then((answer) => answer.text());
    await expect(exported("json")).rejects.toThrow("damaged");
    expect(await exported("csv").catch(String)).toMatch(/^seq,|damaged/);
  },
);
