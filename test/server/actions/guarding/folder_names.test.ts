import { lstatSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { knownNamesIn } from "../../../../server/actions/guarding/folder_names.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "gate-names-"));
  writeFileSync(join(folder, "a"), "");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const stats = () => lstatSync(folder, { bigint: true });
const later = (ms: number) => Number(stats().ctimeMs) + ms;

test("a folder that changed long ago is read once", () => {
  const before = stats();
  expect(knownNamesIn(folder, before, later(10_000))).toEqual(["a"]);
  writeFileSync(join(folder, "b"), "");
  expect(knownNamesIn(folder, before, later(10_000))).toEqual(["a"]);
});

test("a folder that has just changed is read each time", () => {
  const before = stats();
  expect(knownNamesIn(folder, before, later(1_000))).toEqual(["a"]);
  writeFileSync(join(folder, "b"), "");
  expect(knownNamesIn(folder, before, later(1_000)).toSorted()).toEqual(["a", "b"]);
});

test("a new name is found although its writer sets the folder's time back", () => {
  const { atime, mtime } = lstatSync(folder);
  expect(knownNamesIn(folder, stats(), Date.now())).toEqual(["a"]);
  writeFileSync(join(folder, "b"), "");
  utimesSync(folder, atime, mtime);
  expect(knownNamesIn(folder, stats(), Date.now()).toSorted()).toEqual(["a", "b"]);
});
