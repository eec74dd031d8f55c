import { execFileSync } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { moveUnnamed, restore } from "../../../../server/actions/guarding/restore.ts";
import { loadState, stateText } from "../../../../server/actions/guarding/saved_state.ts";
import { compare, takeSnapshot } from "../../../../server/actions/guarding/snapshot.ts";
import { createTempFolder } from "../../../temp_folder.ts";

let base: string;
const at = (path: string) => join(base, path);

function write(path: string, text: string): void {
  mkdirSync(dirname(at(path)), { recursive: true });
  writeFileSync(at(path), text);
}

beforeEach(() => {
  base = createTempFolder("gate-restore-");
  write("project/folder/.env", "planted");
  write("elsewhere/.env", "of a person");
});

/** A command puts a link to another folder into the place of `folder`. */
function swap(): void {
  renameSync(at("project/folder"), at("project/away"));
  symlinkSync(at("elsewhere"), at("project/folder"));
}

const places = () => [{ path: at("project/folder/.env"), deep: false }];

test("a new file is moved into the quarantine", () => {
  const [created] = compare(places(), new Map());
  const { restored, quarantine } = restore(created!, at("quarantine"), { follows: false });
  expect(restored).toBe(true);
  expect(existsSync(at("project/folder/.env"))).toBe(false);
  expect(readFileSync(quarantine!, "utf8")).toBe("planted");
});

test("no file is moved away from where a swapped folder leads", () => {
  const [created] = compare(places(), new Map());
  swap();
  expect(restore(created!, at("quarantine"), { follows: false }))
    .toMatchObject({ restored: false, quarantine: null });
  expect(readFileSync(at("elsewhere/.env"), "utf8")).toBe("of a person");
  expect(existsSync(at("quarantine")) ? readdirSync(at("quarantine")) : []).toEqual([]);
});

test("no file is written to where a swapped folder leads", () => {
  const before = takeSnapshot(places());
  write("project/folder/.env", "changed by a command");
  const [modified] = compare(places(), before);
  swap();
  expect(restore(modified!, at("quarantine"), { follows: true })).toMatchObject({ restored: true });
  expect(readFileSync(at("elsewhere/.env"), "utf8")).toBe("of a person");
  expect(readFileSync(at("project/folder/.env"), "utf8")).toBe("planted");
});

test("a file behind a swapped folder is not read, and the link goes to the quarantine", () => {
  const before = takeSnapshot(places());
  swap();
  const [deleted] = compare(places(), before);
  expect(deleted).toMatchObject({ change: "deleted", now: null });
  const { after_sha256, quarantine } = restore(deleted!, at("quarantine"), { follows: true });
  expect(after_sha256).toBe(null);
  expect(readlinkSync(quarantine!)).toBe(at("elsewhere"));
  expect(readFileSync(at("elsewhere/.env"), "utf8")).toBe("of a person");
  expect(lstatSync(at("project/folder")).isDirectory()).toBe(true);
  expect(readFileSync(at("project/folder/.env"), "utf8")).toBe("planted");
});

test("nothing of a new file elsewhere is told", () => {
  swap();
  const [created] = compare(places(), new Map());
  expect(created!.now!.sha256).not.toBe(null);
  expect(restore(created!, at("quarantine"), { follows: false }))
    .toMatchObject({ restored: false, after_sha256: null });
});

test("a link that a person puts above it between two commands is followed afterwards", () => {
  const earlier = takeSnapshot(places());
  renameSync(at("project/folder"), at("moved"));
  symlinkSync(at("moved"), at("project/folder"));
  const before = takeSnapshot(places(), earlier);
  write("moved/.env", "changed by a command");
  const [modified] = compare(places(), before);
  expect(restore(modified!, at("quarantine"), { follows: true })).toMatchObject({ restored: true });
  expect(readFileSync(at("moved/.env"), "utf8")).toBe("planted");
  expect(readlinkSync(at("project/folder"))).toBe(at("moved"));
});

test("a link that a person has above a guarded file is followed", () => {
  swap();
  const before = takeSnapshot(places());
  write("elsewhere/.env", "changed by a command");
  const [modified] = compare(places(), before);
  expect(restore(modified!, at("quarantine"), { follows: true })).toMatchObject({ restored: true });
  expect(readFileSync(at("elsewhere/.env"), "utf8")).toBe("of a person");
});

test("a folder that was removed comes back with its file", () => {
  const before = takeSnapshot(places());
  renameSync(at("project/folder"), at("project/away"));
  const [deleted] = compare(places(), before);
  expect(restore(deleted!, at("quarantine"), { follows: false }))
    .toMatchObject({ change: "deleted", restored: true });
  expect(readFileSync(at("project/folder/.env"), "utf8")).toBe("planted");
});

test("a state that an older gate kept is restored by the names of its folders", () => {
  const { text } = stateText("x", takeSnapshot(places()));
  const older = JSON.parse(text);
  for (const file of older.files) delete file.above;
  write("state.json", JSON.stringify(older));
  const { snapshot } = loadState(at("state.json"), "x")!;
  write("project/folder/.env", "changed by a command");
  const [modified] = compare(places(), snapshot!);
  expect(restore(modified!, at("quarantine"), { follows: false })).toMatchObject({
    restored: true,
  });
  expect(readFileSync(at("project/folder/.env"), "utf8")).toBe("planted");
});

/** A folder on another file system than the one with the temporary files, where there is one. */
const elsewhere = existsSync("/dev/shm") && statSync("/dev/shm").dev !== statSync(tmpdir()).dev
  ? "/dev/shm"
  : null;
if (elsewhere === null) console.error("NOT RUN: no second file system for the quarantine here");

test.runIf(elsewhere !== null)("a pipe keeps no folder from another file system", () => {
  const quarantine = mkdtempSync(join(elsewhere!, "gate-quarantine-"));
  try {
    write("project/.vscode/tasks.json", "planted");
    execFileSync("mkfifo", [at("project/.vscode/pipe")]);
    const [created] = compare([{ path: at("project/.vscode"), deep: false }], new Map());
    const { restored, quarantine: kept } = restore(created!, quarantine, { follows: false });
    expect(restored).toBe(true);
    expect(existsSync(at("project/.vscode"))).toBe(false);
    expect(readFileSync(join(kept!, "tasks.json"), "utf8")).toBe("planted");
  } finally {
    rmSync(quarantine, { recursive: true });
  }
});

test("what has a name that is no text is moved away", () => {
  execFileSync("/bin/sh", ["-c", 'mkdir -p "$(printf \'%s\\377\' "$0")/.git"', at("project/a")]);
  const kept = moveUnnamed(at("project/a\uFFFD"), at("quarantine"));
  // Deno does not tell the bytes of a name, so gate says that it could not.
  if ("Deno" in globalThis) return expect(kept).toBeNull();
  expect(readdirSync(kept!)).toEqual([".git"]);
  expect(readdirSync(at("project"))).toEqual(["folder"]);
  expect(moveUnnamed(at("project/a\uFFFD"), at("quarantine"))).toBeNull();
});
