import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { openByName, openFolder } from "../../../server/runtime/folder.ts";
import { openSystemCalls, readySystemCalls } from "../../../server/runtime/system_calls.ts";

function build(): string {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "gate-folder-")));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  mkdirSync(join(base, "real/sub"), { recursive: true });
  symlinkSync("real", join(base, "link"));
  writeFileSync(join(base, "file"), "");
  return base;
}

const WAYS = {
  "by descriptor": (path: string, make = false) => openFolder(path, { make }),
  "by name": (path: string, make = false) => openByName(path, make),
};

// Where one call can open a folder, it does so once this is prepared.
readySystemCalls();
await openSystemCalls();

describe.each(Object.entries(WAYS))("a folder opened %s", (_way, open) => {
  test("gives paths of names in it, and lasts", async () => {
    const base = build();
    const { folder, made } = open(join(base, "real"));
    expect(made).toEqual([]);
    writeFileSync(folder.at("f"), "x");
    folder.check();
    await folder.sync();
    folder.close();
    expect(existsSync(join(base, "real/f"))).toBe(true);
  });

  test("is made with those above it where that is asked for", () => {
    const base = build();
    const { folder, made } = open(join(base, "new/deep/er"), true);
    folder.close();
    expect(made).toEqual(["new", "new/deep", "new/deep/er"].map((name) => join(base, name)));
    expect(() => open(join(base, "other"))).toThrow(expect.objectContaining({ code: "not_found" }));
    expect(existsSync(join(base, "other"))).toBe(false);
  });

  test.each([
    ["link", "conflict"],
    ["link/sub", "conflict"],
    ["file", "invalid"],
  ])("is no %s", (name, code) => {
    const base = build();
    expect(() => open(join(base, name))).toThrow(expect.objectContaining({ code }));
    expect(() => open(join(base, name, "x"), true)).toThrow();
    expect(existsSync(join(base, "real/x"))).toBe(false);
  });

  test.each([
    ["moved away", (base: string) => renameSync(join(base, "real"), join(base, "gone"))],
    ["replaced by another folder", (base: string) => {
      renameSync(join(base, "real"), join(base, "gone"));
      mkdirSync(join(base, "real"));
    }],
    ["replaced by a link to itself", (base: string) => {
      renameSync(join(base, "real"), join(base, "gone"));
      symlinkSync("gone", join(base, "real"));
    }],
    ["removed", (base: string) => rmSync(join(base, "real"), { recursive: true })],
  ])("notices that it was %s", (_name, change) => {
    const base = build();
    const { folder } = open(join(base, "real"));
    change(base);
    expect(() => folder.check()).toThrow(expect.objectContaining({ code: "conflict" }));
    folder.close();
  });
});
