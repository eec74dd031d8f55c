import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { deletionOf } from "../../../../server/actions/show/deletion.ts";

let root: string;
beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "gate-deletion-")));
  mkdirSync(join(root, "build/deep"), { recursive: true });
  mkdirSync(join(root, "empty"));
  for (let at = 0; at < 210; at++) writeFileSync(join(root, `build/${at}.js`), "12345");
  for (let at = 0; at < 4; at++) writeFileSync(join(root, `build/deep/${at}.js`), "12345");
  mkdirSync(join(root, "kept"));
  writeFileSync(join(root, "kept/large.txt"), "x".repeat(10_000));
  symlinkSync(join(root, "kept"), join(root, "build/link"));
  writeFileSync(join(root, "one.txt"), "one");
  mkdirSync(join(root, "many"));
  for (let at = 0; at < 20_100; at++) writeFileSync(join(root, `many/${at}`), "");
});
afterAll(() => rmSync(root, { recursive: true }));

const deletesOf = (deletes: string[], { cwd = root, status = "pending" as const } = {}) =>
  deletionOf({
    status,
    cwd,
    root,
    analysis: { commands: [], reads: [], writes: [], deletes, unresolved: [] },
  });

describe("deletionOf()", () => {
  test("counts the files below a folder, and a link as one file that leads nowhere", async () => {
    const found = await deletesOf(["build"]);
    expect(found).toMatchObject({ files: 215, bytes: 214 * 5, folders: ["build"], is_whole: true });
    expect(found!.paths.length).toBe(200);
    expect(found!.paths[0]).toBe("build/0.js");
    expect(found!.paths.join()).not.toContain("large.txt");
  });

  test.each([
    ["a file", ["one.txt"], { files: 1, bytes: 3, folders: [], paths: ["one.txt"] }],
    ["an empty folder", ["empty"], { files: 0, bytes: 0, folders: ["empty"], paths: [] }],
    ["an absolute path", ["ROOT/one.txt"], { files: 1, bytes: 3 }],
    ["the same twice", ["build/deep", "build", "build/deep"], { files: 215, bytes: 1_070 }],
    ["a link", ["build/link"], { files: 1, bytes: 0, folders: [] }],
  ])("counts %s", async (_, deletes, expected) => {
    const paths = deletes.map((path) => path.replace("ROOT", root));
    expect(await deletesOf(paths)).toMatchObject(expected);
  });

  test("resolves a path from the folder of the command", async () => {
    expect(await deletesOf(["deep"], { cwd: join(root, "build") })).toMatchObject({
      files: 4,
      folders: ["build/deep"],
    });
  });

  test.each([["nothing", []], ["what does not exist", ["none", "none/below", "\0"]]])(
    "is null for %s",
    async (_, deletes) => expect(await deletesOf(deletes)).toBeNull(),
  );

  test("stops after 20,000 names and says so", async () => {
    const found = await deletesOf(["many"]);
    expect(found!.is_whole).toBe(false);
    expect(found!.files).toBeGreaterThan(19_000);
    expect(found!.files).toBeLessThanOrEqual(20_000);
  });
});
