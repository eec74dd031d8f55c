import {
  appendFileSync,
  chmodSync,
  closeSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readImage } from "../../../server/runtime/file_image.ts";
import { SeenFiles } from "../../../server/runtime/file_image.ts";
import { createTempFolder } from "../../temp_folder.ts";

const LARGE = 2 * 1024 * 1024;

/** A large file, and a look at it that counts how often it was read. */
function openLarge({ settled = true } = {}) {
  const path = join(createTempFolder("seen"), "large.bin");
  writeFileSync(path, new Uint8Array(LARGE));
  let reads = 0;
  const seen = new SeenFiles({
    read: (path, keep) => (reads++, readImage(path, keep)),
    now: () => Date.now() + (settled ? 60_000 : 0),
  });
  return { path, look: (keep = 0) => seen.look(path, keep), reads: () => reads };
}

test("a large file that stands still is read once", async () => {
  const { path, look, reads } = openLarge();
  const first = await look();
  expect([await look(), await look(), reads()]).toEqual([first, first, 1]);
  expect(first).toEqual(await readImage(path, 0));
  expect((await look(LARGE))?.content).toHaveLength(LARGE);
});

test.each<[what: string, change: (path: string) => void]>([
  ["one byte, in place, with its old time", (path) => {
    const { atime, mtime, ctimeMs } = statSync(path);
    const fd = openSync(path, "r+");
    writeSync(fd, new Uint8Array([1]), 0, 1, 77);
    closeSync(fd);
    // The clock of a file system is coarse; a file that is this young is not trusted outside tests.
    do utimesSync(path, atime, mtime); while (statSync(path).ctimeMs === ctimeMs);
  }],
  ["more at its end", (path) => appendFileSync(path, "x")],
  ["another file of its size and time in its place", (path) => {
    const { atime, mtime } = statSync(path);
    writeFileSync(`${path}.new`, new Uint8Array(LARGE).fill(7));
    utimesSync(`${path}.new`, atime, mtime);
    renameSync(`${path}.new`, path);
  }],
  ["its mode", (path) => chmodSync(path, 0o600)],
  ["nothing in its place", (path) => rmSync(path)],
  ["a small one in its place", (path) => writeFileSync(path, "small")],
])("a change is always seen: %s", async (_, change) => {
  const { path, look } = openLarge();
  const before = await look();
  change(path);
  const after = await look();
  expect(after).toEqual(await readImage(path, 0));
  expect(after).not.toEqual(before);
});

test("what has only just changed is not trusted yet", async () => {
  const { look, reads } = openLarge({ settled: false });
  await look();
  await look();
  expect(reads()).toBe(2);
});

test("a link that has come in its place is refused, as ever", async () => {
  const { path, look } = openLarge();
  await look();
  renameSync(path, `${path}.old`);
  symlinkSync(`${path}.old`, path);
  await expect(look()).rejects.toMatchObject({ code: "conflict" });
});
