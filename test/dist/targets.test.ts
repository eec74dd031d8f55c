import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { MACHINES, thisMachine } from "../../dist/targets.ts";

const lock = JSON.parse(readFileSync(new URL("../../deno.lock", import.meta.url), "utf8")) as {
  npm: Record<string, unknown>;
};
const known = Object.keys(lock.npm).map((key) => key.slice(0, key.lastIndexOf("@")));

describe("MACHINES", () => {
  test.each(MACHINES)("$name: both packages are in the lock file", ({ bun, libsql }) => {
    expect(known).toEqual(expect.arrayContaining([bun.package, libsql]));
  });
});

describe("thisMachine()", () => {
  test.each([
    ["linux", "x64", false, "linux-x64"],
    ["linux", "arm64", true, "linux-arm64-musl"],
    ["darwin", "arm64", false, "darwin-arm64"],
    ["win32", "x64", false, "win32-x64.exe"],
  ])("%s %s, musl %s", (platform, arch, isMusl, name) => {
    expect(thisMachine(platform, arch, isMusl).name).toBe(name);
  });

  test("throws for an unsupported machine", () => {
    expect(() => thisMachine("freebsd", "x64", false)).toThrow('Cannot compile on "freebsd-x64"');
  });
});
