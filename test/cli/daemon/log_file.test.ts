import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { LogFollower } from "../../../cli/daemon/show_log.ts";
import { LogFile } from "../../../cli/daemon/log_file.ts";

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "gate-log-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const path = () => join(folder, "logs", "daemon.log");
const SMALL = { bytes: 200, files: 5 };

test("LogFile appends JSON lines that only their owner can read", () => {
  const file = new LogFile(path());
  file.write({ message: "one\ntwo", n: 1 });
  file.close();
  expect(JSON.parse(readFileSync(path(), "utf8"))).toEqual({ message: "one\ntwo", n: 1 });
  expect(readFileSync(path(), "utf8").split("\n")).toHaveLength(2);
  expect(statSync(path()).mode & 0o777).toBe(0o600);
  expect(statSync(join(folder, "logs")).mode & 0o777).toBe(0o700);
});

test("LogFile keeps five files within the size limit, also across restarts", () => {
  for (let start = 0; start < 4; start++) {
    const file = new LogFile(path(), SMALL);
    for (let n = 0; n < 25; n++) file.write({ start, n, text: "x".repeat(20) });
    file.close();
  }
  const names = readdirSync(join(folder, "logs")).sort();
  expect(names).toEqual(["daemon.log", ...[1, 2, 3, 4].map((n) => `daemon.log.${n}`)]);
  for (const name of names) {
    const { size, mode } = statSync(join(folder, "logs", name));
    expect(size).toBeLessThanOrEqual(SMALL.bytes);
    expect(mode & 0o777).toBe(0o600);
  }
  expect(readFileSync(path(), "utf8")).toContain('"start":3,"n":24');
});

test("LogFile.reopen() opens a new file after another program moved the old one", () => {
  const file = new LogFile(path());
  file.write({ n: 1 });
  renameSync(path(), `${path()}.moved`);
  file.reopen();
  file.write({ n: 2 });
  file.close();
  expect(readFileSync(path(), "utf8")).toBe('{"n":2}\n');
});

test("LogFile keeps its file if it cannot be opened again", () => {
  const file = new LogFile(path());
  renameSync(path(), `${path()}.moved`);
  mkdirSync(path());
  expect(() => file.reopen()).toThrow();
  const other = openSync(join(folder, "other"), "w"); // takes the number of a closed descriptor
  file.write({ n: 1 });
  file.close();
  writeSync(other, "ours");
  closeSync(other);
  expect(readFileSync(join(folder, "other"), "utf8")).toBe("ours");
  expect(readFileSync(`${path()}.moved`, "utf8")).toBe('{"n":1}\n');
});

test("LogFollower reads each line once across rotations", () => {
  const file = new LogFile(path(), SMALL);
  const follower = new LogFollower(path());
  const seen: number[] = [];
  const look = () => seen.push(...follower.read().map((line) => JSON.parse(line).n));
  for (let n = 0; n < 60; n++) {
    file.write({ n, text: "grüße".repeat(5) });
    // The log rotates up to twice between two reads.
    if (n % 7 === 0) look();
  }
  look();
  expect(seen).toEqual(Array.from({ length: 60 }, (_, n) => n));
  follower.close();
  file.close();
});

test("LogFollower returns no lines until the log exists", () => {
  const follower = new LogFollower(path());
  expect(follower.read()).toEqual([]);
  const file = new LogFile(path());
  file.write({ n: 1 });
  expect(follower.read()).toEqual(['{"n":1}']);
  expect(follower.read()).toEqual([]);
  follower.close();
  file.close();
});
