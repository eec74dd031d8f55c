import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { Connection } from "../../../server/db/connection.ts";
import { Database, explain } from "../../../server/db/database.ts";
import { startChild } from "../../child.ts";

function place(name = "a.db"): string {
  const folder = mkdtempSync(join(tmpdir(), "gate-db-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, name);
}

async function openAt(path: string, busy_limit_ms = 10_000): Promise<Database> {
  const database = await Database.open(path, { busy_limit_ms });
  onTestFinished(() => database.close());
  return database;
}

const sql = (text: string) => ({ sql: text, args: [] });

async function openTable(busy_limit_ms?: number): Promise<Database> {
  const database = await openAt(place(), busy_limit_ms);
  await database.batch([sql("CREATE TABLE t (n INTEGER PRIMARY KEY) STRICT")]);
  return database;
}

const count = async (database: Database) =>
  (await database.all("SELECT count(*) AS n FROM t"))[0]!.n;

test.each([
  ["journal_mode", "wal"],
  ["synchronous", 1],
  ["foreign_keys", 1],
  ["trusted_schema", 0],
  ["cell_size_check", 1],
  ["journal_size_limit", 67_108_864],
])("PRAGMA %s is %s", async (name, value) => {
  const database = await openAt(place());
  expect(await database.all(`PRAGMA ${name}`)).toEqual([{ [name]: value }]);
});

test("a path may contain characters with a meaning in URLs", async () => {
  const database = await openAt(place("ä ?#%41&.db"));
  await database.batch([sql("CREATE TABLE t (n INTEGER) STRICT")]);
  expect(await count(database)).toBe(0);
});

test("a failing batch changes nothing", async () => {
  const database = await openTable();
  const batch = database.batch([sql("INSERT INTO t VALUES (1)"), sql("INSERT INTO t VALUES (1)")]);
  await expect(batch).rejects.toThrow("UNIQUE");
  expect(await count(database)).toBe(0);
});

test("100 concurrent batches run one after the other", async () => {
  const database = await openTable();
  const insert = sql("INSERT INTO t SELECT coalesce(max(n), 0) + 1 FROM t RETURNING n");
  const rows = await Promise.all(Array.from({ length: 100 }, () => database.batch([insert])));
  expect(rows.map(([first]) => first![0]!.n)).toEqual(Array.from({ length: 100 }, (_, i) => i + 1));
});

test("a text with a NUL is refused", async () => {
  const database = await openTable();
  await expect(database.batch([{ sql: "SELECT ?", args: ["a\0b"] }]))
    .rejects.toMatchObject({
      code: "invalid",
      message: "Cannot insert the record: a text contains a NUL character; " +
        "remove it and send the request again",
    });
});

// libsql-client-ts#352: without a new connection the second batch fails, and its open transaction
// locks the other process out.
test("both processes continue to work after one of them waited for a lock", async () => {
  const database = await openTable();
  const other = await startChild("server/db/hold_lock.ts", [database.path]);
  for (let round = 1; round <= 3; round++) {
    other.writeLine("lock");
    expect(await other.readLine()).toBe("locked");
    const waiting = database.batch([{ sql: "INSERT INTO t VALUES (?)", args: [round] }]);
    expect(await count(database)).toBe(round - 1);
    other.writeLine("unlock");
    expect(await other.readLine()).toBe("unlocked");
    await waiting;
    expect(await count(database)).toBe(round);
  }
});

test("a batch fails as unavailable under a lasting lock and works again after it", async () => {
  const database = await openTable(50);
  const other = await startChild("server/db/hold_lock.ts", [database.path]);
  other.writeLine("lock");
  await other.readLine();
  await expect(database.batch([sql("INSERT INTO t VALUES (1)")]))
    .rejects.toMatchObject({ code: "unavailable", message: expect.stringContaining("locked") });
  await other.kill();
  await database.batch([sql("INSERT INTO t VALUES (1)")]);
  await database.batch([sql("INSERT INTO t VALUES (2)")]);
  expect(await count(database)).toBe(2);
});

test("close() moves the write-ahead log into the file, and later calls are refused", async () => {
  const database = await openTable();
  await database.batch([sql("INSERT INTO t VALUES (1)")]);
  await Promise.all([database.close(), database.close()]);
  await database.close();
  await expect(database.all("SELECT 1")).rejects.toMatchObject({ code: "unavailable" });
  await expect(database.batch([sql("SELECT 1")])).rejects.toMatchObject({ code: "unavailable" });
  rmSync(`${database.path}-wal`, { force: true });
  expect(await count(await openAt(database.path))).toBe(1);
});

const insert = (n: number) => sql(`INSERT INTO t VALUES (${n})`);
const hold = (database: Database, n: number) =>
  database.exclusive((write) => write([insert(n)], { is_held: true }));

test("a held batch is read at once, and committed with the next batch", async () => {
  const database = await openTable();
  const { path } = database;
  const other = await openAt(path);
  await hold(database, 1);
  expect([await count(database), await count(other)]).toEqual([1, 0]);
  await database.batch([insert(2)]);
  expect([await count(database), await count(other)]).toEqual([2, 2]);
});

test("a held batch survives a later batch that fails, and a lost connection", async () => {
  const database = await openTable();
  const other = await openAt(database.path);
  await hold(database, 1);
  await hold(database, 2);
  // The held batch fails alone.
  await expect(hold(database, 2)).rejects.toThrow("UNIQUE");
  expect(await count(database)).toBe(2);
  await expect(database.batch([insert(3), insert(1)])).rejects.toThrow("UNIQUE");
  expect([await count(database), await count(other)]).toEqual([2, 0]);
  const { run } = Connection.prototype;
  const spy = vi.spyOn(Connection.prototype, "run").mockImplementationOnce(() => {
    throw Object.assign(new Error("gone"), { code: "SQLITE_IOERR" });
  });
  await expect(count(database)).rejects.toMatchObject({ code: "unavailable" });
  spy.mockImplementation(run);
  expect(await count(database)).toBe(2);
  await database.sync();
  expect(await count(other)).toBe(2);
});

test("a held batch is committed when the database closes", async () => {
  const database = await openTable();
  await hold(database, 1);
  await database.close();
  expect(await count(await openAt(database.path))).toBe(1);
});

const postpone = (database: Database, n: number) =>
  database.exclusive((write) => write([insert(n)], { is_held: true, is_postponed: true }));

test.each<[name: string, use: (database: Database) => Promise<unknown>]>([
  ["a query", (database) => count(database)],
  ["a batch", (database) => database.batch([insert(3)])],
  ["a held batch", (database) => hold(database, 3)],
  ["a sync", (database) => database.sync()],
  ["the end of the turn", () => new Promise((resolve) => setImmediate(resolve))],
])("a postponed batch runs before %s, once and in its turn", async (_name, use) => {
  const database = await openTable();
  const ran = vi.spyOn(Connection.prototype, "batch");
  onTestFinished(() => ran.mockRestore());
  await hold(database, 1);
  expect(await postpone(database, 2)).toEqual([[]]);
  expect(ran).toHaveBeenCalledTimes(1);
  await use(database);
  const statements = ran.mock.calls.flatMap(([batch]) => batch.map(({ sql }) => sql));
  expect(statements.slice(0, 2)).toEqual([insert(1).sql, insert(2).sql]);
  await database.close();
  const rows = await (await openAt(database.path)).all("SELECT n FROM t ORDER BY n");
  expect(rows.map(({ n }) => n)).toEqual(statements.length > 2 ? [1, 2, 3] : [1, 2]);
});

test("a postponed batch is committed when the database closes, and after a failed one", async () => {
  const database = await openTable();
  await postpone(database, 1);
  await expect(database.batch([insert(2), insert(2)])).rejects.toThrow("UNIQUE");
  expect(await count(database)).toBe(1);
  await postpone(database, 3);
  await database.close();
  expect(await count(await openAt(database.path))).toBe(2);
});

test("a postponed batch that another program made impossible is reported by all that follow", async () => {
  const database = await openTable();
  const other = await openAt(database.path);
  await postpone(database, 1);
  await other.batch([insert(1)]);
  const changed = {
    code: "unavailable",
    message: expect.stringContaining("run gate daemon restart, which reads"),
  };
  await expect(count(database)).rejects.toMatchObject(changed);
  await expect(database.batch([insert(2)])).rejects.toMatchObject(changed);
  await database.close();
  expect(await count(other)).toBe(1);
});

test("callers that wait together share one sync, each with its own answer", async () => {
  const database = await openTable();
  const synced = vi.spyOn(Database.prototype, "syncLog");
  onTestFinished(() => synced.mockRestore());
  const answers = await Promise.allSettled(
    Array.from({ length: 40 }, (_, n) => database.batch([insert(n % 30)])),
  );
  const failed = answers.filter(({ status }) => status === "rejected");
  expect(failed).toHaveLength(10);
  expect(await count(database)).toBe(30);
  expect(synced.mock.calls.length).toBeGreaterThan(0);
  expect(synced.mock.calls.length).toBeLessThan(10);
});

test("a caller that waits alone syncs at once, and a sync that has begun serves no later caller", async () => {
  const database = await openTable();
  let release = () => {};
  const synced = vi.spyOn(Database.prototype, "syncLog").mockImplementation(
    () => new Promise((resolve) => release = resolve),
  );
  onTestFinished(() => synced.mockRestore());
  await database.batch([insert(1)], { is_synced: false });
  const first = database.syncCommitted();
  // In the same call: nothing that follows in this turn delays it.
  expect(synced).toHaveBeenCalledTimes(1);
  await database.batch([insert(2)], { is_synced: false });
  const later = [database.syncCommitted(), database.syncCommitted()];
  expect(synced).toHaveBeenCalledTimes(1);
  release();
  await first;
  await vi.waitFor(() => expect(synced).toHaveBeenCalledTimes(2));
  release();
  await Promise.all(later);
  expect(synced).toHaveBeenCalledTimes(2);
});

test("commits that waited for the folder of a held batch share one sync", async () => {
  const database = await openTable();
  const synced = vi.spyOn(Database.prototype, "syncLog");
  onTestFinished(() => synced.mockRestore());
  const insert = (n: number) => ({ sql: "INSERT INTO t VALUES (?)", args: [n] });
  let sync = () => {};
  const folder = new Promise<void>((resolve) => sync = resolve);
  const held = { is_held: true, after: folder };
  await database.exclusive((write) => write([insert(1)], held));
  const others = [2, 3, 4].map((n) => database.batch([insert(n)]));
  sync();
  await Promise.all(others);
  expect(await count(database)).toBe(4);
  expect(synced).toHaveBeenCalledTimes(1);
});

test("after the disk failed to sync, nothing more is promised until a restart", async () => {
  const database = await openTable();
  const spy = vi.spyOn(Database.prototype, "syncLog").mockRejectedValueOnce(new Error("EIO"));
  onTestFinished(() => spy.mockRestore());
  const unavailable = { code: "unavailable", message: expect.stringContaining("disk") };
  await expect(database.batch([insert(1)])).rejects.toMatchObject(unavailable);
  // The disk may have dropped those pages: a later sync that succeeds says nothing about them.
  await expect(database.batch([insert(2)])).rejects.toMatchObject(unavailable);
  await expect(database.sync()).rejects.toMatchObject(unavailable);
});

test("a process without a free file descriptor waits for one, and goes on", async () => {
  const database = await openTable();
  const none = Object.assign(new Error("too many open files"), { code: "EMFILE" });
  const spy = vi.spyOn(Database.prototype, "syncLog").mockRejectedValueOnce(none)
    .mockRejectedValueOnce(none);
  onTestFinished(() => spy.mockRestore());
  await database.batch([insert(1)]);
  expect(spy).toHaveBeenCalledTimes(3);
  await database.batch([insert(2)]);
});

test("a caller that waits for the disk does not commit what others hold", async () => {
  const database = await openTable();
  const other = await openAt(database.path);
  const own = database.exclusive((write) => write([insert(1)]));
  const held = hold(database, 2);
  await Promise.all([own, held, database.syncCommitted()]);
  expect(await count(other)).toBe(1);
  await database.sync();
  expect(await count(other)).toBe(2);
});

test("a held batch whose transaction was rolled back is committed when the database closes", async () => {
  const database = await openTable();
  await hold(database, 1);
  await expect(database.batch([insert(1)])).rejects.toThrow("UNIQUE");
  await database.close();
  expect(await count(await openAt(database.path))).toBe(1);
});

test.each([
  [1544, "it is read-only; make it and its folder writable and try again"],
  [8714, "the disk reports an error; check it and try again"],
  [779, "it is damaged; run gate daemon restart, which moves it aside and creates a new one"],
  [13, "the disk is full; free some space and try again"],
])("an extended code that libSQL names only by its number, %i, is explained", (number, text) => {
  const error = Object.assign(new Error("x"), { code: `UNKNOWN_SQLITE_ERROR_${number}` });
  expect(explain(error, "/data/ledger.db")).toMatchObject({
    code: "unavailable",
    message: `Cannot use "/data/ledger.db": ${text}`,
  });
});
