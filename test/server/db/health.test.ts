import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { listDamaged, openChecked } from "../../../server/db/health.ts";
import { checkIntegrity } from "../../../server/db/integrity.ts";

const now = () => Date.UTC(2026, 0, 1);
const migrations = [{
  version: 1,
  statements: ["CREATE TABLE a (n INTEGER, t TEXT) STRICT", "CREATE INDEX a_n ON a (n)"],
}];

async function makeDatabase(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "gate-health-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "a.db");
  const { database } = await openChecked(path, { migrations, now });
  const insert = { sql: "INSERT INTO a VALUES (?, ?)", args: [1, "x".repeat(3000)] };
  await database.batch(Array.from({ length: 50 }, () => insert));
  await database.close();
  rmSync(`${path}-wal`, { force: true });
  rmSync(`${path}-shm`, { force: true });
  return path;
}

function overwrite(path: string, offset: number, length: number): void {
  const fd = openSync(path, "r+");
  writeSync(fd, new Uint8Array(length).fill(0xa5), 0, length, offset);
  closeSync(fd);
}

function flip(path: string, where: string): void {
  const file = readFileSync(path);
  const at = Math.max(file.indexOf(where, file.length / 2), file.indexOf(where));
  overwrite(path, at + where.length - 6, 1);
}

test.each([
  ["the header", (path: string) => overwrite(path, 0, 64)],
  ["the page of the schema", (path: string) => overwrite(path, 100, 200)],
  ["pages in the middle", (path: string) => overwrite(path, 4096 * 3, 4096 * 4)],
  ["the end cut off", (path: string) => writeFileSync(path, readFileSync(path).subarray(0, 9000))],
  // libSQL ends the whole process when it reads a text that is not UTF-8.
  ["one byte of a text", (path: string) => flip(path, "x".repeat(99))],
  ["one byte of a name", (path: string) => flip(path, "INTEGER, t TEXT")],
  [
    "a file of another format",
    (path: string) => writeFileSync(path, "not a database\n".repeat(99)),
  ],
])("openChecked() moves a damaged file aside and creates a new one: %s", async (_name, damage) => {
  const path = await makeDatabase();
  damage(path);
  const before = readFileSync(path);
  const { database, moved_to } = await openChecked(path, { migrations, now });
  onTestFinished(() => database.close());
  expect(moved_to).toBe(`${path}.corrupt-2026-01-01T00-00-00-000Z`);
  expect(readFileSync(moved_to!).equals(before)).toBe(true);
  expect(listDamaged(path)).toEqual([moved_to]);
  expect(await database.all("SELECT count(*) AS n FROM a")).toEqual([{ n: 0 }]);
});

test.each([["one byte of a text", "x".repeat(99)], ["one byte of a name", "INTEGER, t TEXT"]])(
  "checkIntegrity() finds %s changed",
  async (_, where) => {
    const path = await makeDatabase();
    expect(checkIntegrity(path)).toBeNull();
    flip(path, where);
    expect(checkIntegrity(path)).toMatch(/is not UTF-8$/);
  },
);

test("a large database is read to its end only if its last owner was killed", async () => {
  const path = await makeDatabase();
  const { database } = await openChecked(path, { migrations, now });
  const wide = { sql: "INSERT INTO a VALUES (?, ?)", args: [1, "y".repeat(40_000)] };
  for (let left = 5; left > 0; left--) {
    await database.batch(Array.from({ length: 100 }, () => wide));
  }
  await database.batch([{
    sql: "UPDATE a SET t = CAST(x'61ff62' AS TEXT) WHERE rowid = 321",
    args: [],
  }]);
  await database.close();
  expect(statSync(path).size).toBeGreaterThan(16 * 1024 * 1024);
  const quick = await openChecked(path, { migrations, now });
  await quick.database.close();
  expect(quick.moved_to).toBeNull();
  const whole = await openChecked(path, { migrations, now, reads_all: true });
  await whole.database.close();
  expect(whole.moved_to).not.toBeNull();
});

test("two files damaged at the same moment get different names", async () => {
  const path = await makeDatabase();
  for (let n = 0; n < 2; n++) {
    rmSync(`${path}-wal`, { force: true });
    rmSync(`${path}-shm`, { force: true });
    writeFileSync(path, `damage ${n}`.repeat(1000));
    const { database } = await openChecked(path, { migrations, now });
    await database.close();
  }
  expect(listDamaged(path).map((file) => readFileSync(file, "utf8").slice(0, 8)).toSorted())
    .toEqual(["damage 0", "damage 1"]);
});

test("openChecked() leaves an intact file in place", async () => {
  const path = await makeDatabase();
  const { database, moved_to } = await openChecked(path, { migrations, now });
  onTestFinished(() => database.close());
  expect(moved_to).toBeNull();
  expect(listDamaged(path)).toEqual([]);
  expect(existsSync(path) && statSync(path).size > 0).toBe(true);
  expect(await database.all("SELECT count(*) AS n FROM a")).toEqual([{ n: 50 }]);
});
