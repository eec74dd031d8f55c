import fc from "fast-check";
import { Buffer } from "node:buffer";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Connection } from "../../../server/db/connection.ts";
import { Database } from "../../../server/db/database.ts";
import type { Value } from "../../../server/db/ledger.ts";

const sql = (text: string, ...args: Value[]) => ({ sql: text, args });
const INSERT = "INSERT INTO t VALUES (?, ?)";

function open(): Connection {
  const folder = mkdtempSync(join(tmpdir(), "gate-db-"));
  const connection = new Connection(join(folder, "a.db"));
  onTestFinished(() => {
    connection.close();
    rmSync(folder, { recursive: true, force: true });
  });
  connection.run(sql("CREATE TABLE t (id INTEGER PRIMARY KEY, x ANY) STRICT"));
  return connection;
}

const all = (connection: Connection) => connection.run(sql("SELECT * FROM t ORDER BY id"));

test("a failed statement can run again, alone and in a batch", () => {
  const connection = open();
  const twice = [sql(INSERT, 1, "a"), sql(INSERT, 1, "b")];
  for (let round = 0; round < 3; round++) {
    expect(() => connection.batch(twice)).toThrow("UNIQUE constraint failed");
    expect(all(connection)).toEqual([]);
  }
  connection.batch([sql(INSERT, 1, "a"), sql(INSERT, 2, "b")]);
  expect(() => connection.run(sql(INSERT, 2, "c"))).toThrow("UNIQUE constraint failed");
  connection.run(sql(INSERT, 3, "c"));
  expect(all(connection).map(({ x }) => x)).toEqual(["a", "b", "c"]);
});

test("a statement runs with its own arguments only", () => {
  const connection = open();
  connection.run(sql(INSERT, 1, "text"));
  connection.run(sql(INSERT, 2, null));
  connection.run(sql(INSERT, 3, new Uint8Array([0, 255])));
  connection.run(sql(INSERT, 4, 1.5));
  const values = all(connection).map(({ x }) => x);
  expect(values).toEqual(["text", null, new Uint8Array([0, 255]), 1.5]);
});

test("a missing argument is an error, not the value of an earlier run", () => {
  const connection = open();
  expect(connection.run(sql("SELECT ?1 AS a, ?2 AS b", 1, 2))).toEqual([{ a: 1, b: 2 }]);
  expect(() => connection.run(sql("SELECT ?1 AS a, ?2 AS b", 3))).toThrow("arguments");
});

test("opening a file in a missing folder fails with its SQLite code", async () => {
  const path = join(tmpdir(), "no", "such", "folder", "a.db");
  expect(() => new Connection(path)).toThrow(expect.objectContaining({ code: "SQLITE_CANTOPEN" }));
  await expect(Database.open(path)).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringContaining("check that its folder exists"),
  });
});

test("a cached statement returns columns that were added later", () => {
  const connection = open();
  connection.run(sql(INSERT, 1, "a"));
  expect(all(connection)).toEqual([{ id: 1, x: "a" }]);
  connection.run(sql("ALTER TABLE t ADD COLUMN y TEXT"));
  expect(all(connection)).toEqual([{ id: 1, x: "a", y: null }]);
});

test("a statement that fails while reading rows holds no lock", () => {
  const connection = open();
  const text = (id: number) => id === 250 ? "no json" : "{}";
  connection.batch(Array.from({ length: 300 }, (_, id) => sql(INSERT, id, text(id))));
  const read = sql("SELECT json_extract(x, '$') AS x FROM t ORDER BY id");
  for (let round = 0; round < 3; round++) {
    expect(() => connection.run(read)).toThrow("malformed JSON");
    connection.batch([sql(INSERT, 1_000 + round, "{}")]);
  }
  expect(connection.run(sql("PRAGMA wal_checkpoint(TRUNCATE)"))[0]).toMatchObject({ busy: 0 });
});

test("more statements than the cache holds return correct rows", () => {
  const connection = open();
  for (let round = 0; round < 2; round++) {
    for (let n = 0; n < 500; n++) expect(connection.run(sql(`SELECT ${n} AS n`))).toEqual([{ n }]);
  }
});

test("an integer above the safe range is an error", () => {
  const connection = open();
  connection.run(sql(INSERT, 1, 2n ** 60n));
  expect(() => all(connection)).toThrow("not a safe integer");
});

test("any values are read back unchanged", () => {
  const connection = open();
  const length = fc.oneof(fc.nat(100), fc.integer({ min: 65_000, max: 66_000 }));
  const value = fc.oneof(
    fc.string({ unit: "grapheme" }).filter((text) => !text.includes("\0")),
    fc.maxSafeInteger(),
    fc.constant(null),
    fc.uint8Array(),
    length.map((n) => "ä".repeat(n)),
    length.map((n) => new Uint8Array(n).fill(7)),
  );
  fc.assert(
    fc.property(fc.array(value, { maxLength: 8 }), (values) => {
      connection.batch([sql("DELETE FROM t"), ...values.map((one, i) => sql(INSERT, i, one))]);
      expect(all(connection).map(({ x }) => plain(x!))).toEqual(values.map(plain));
    }),
    { numRuns: 60 },
  );
});

/** Encodes bytes as base64, because comparing arrays byte by byte takes seconds. */
function plain(value: Value): unknown {
  return value instanceof Uint8Array ? { bytes: Buffer.from(value).toString("base64") } : value;
}

test("close() can be called twice", () => {
  const connection = open();
  connection.close();
  connection.close();
  expect(connection.isOpen).toBe(false);
});
