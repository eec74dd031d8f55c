import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { platform } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isAtLeast } from "../../../server/sandbox/bubblewrap.ts";
import { lookForEngine } from "../../../server/sandbox/engine.ts";
import { seccompFilter } from "../../../server/sandbox/seccomp.ts";
import { createTempFolder } from "../../temp_folder.ts";

const isLinux = platform() === "linux";

test("an engine is named with its version, or the reason why there is none", async () => {
  const found = await lookForEngine();
  if (found.engine) {
    expect(found.engine).toMatchObject({ name: "bubblewrap", can_mask: true });
    expect(found.engine.version).toMatch(/^\d+\.\d+/);
  } else expect(found.why).toMatch(/bubblewrap|no sandbox on/);
});

test.runIf(isLinux)("a missing program is none, with the way to install it", async () => {
  const found = await lookForEngine(["/nowhere/bwrap"]);
  expect(found).toMatchObject({ engine: null, why: "bubblewrap is not installed" });
  expect(found.fix).toContain("apt install bubblewrap");
});

test.runIf(isLinux)("a program that a user can change is none", async () => {
  const folder = createTempFolder("engine");
  mkdirSync(join(folder, "bin"));
  const path = join(folder, "bin/bwrap");
  writeFileSync(path, "#!/bin/sh\necho bubblewrap 9.9.9\n", { mode: 0o755 });
  chmodSync(join(folder, "bin"), 0o777);
  expect((await lookForEngine([path])).why).toMatch(/belongs to a user, or one can write it/);
});

test.each([
  ["0.8.0", 0, 8, true],
  ["0.11.1", 0, 8, true],
  ["0.6.1", 0, 8, false],
  ["1.0", 0, 8, true],
])("version %s is at least %i.%i: %s", (version, major, minor, expected) => {
  expect(isAtLeast(version, major, minor)).toBe(expected);
});

test("the filter is whole instructions whose jumps stay inside it", () => {
  for (const architecture of ["x64", "arm64"]) {
    const bytes = seccompFilter(architecture)!;
    expect(bytes.length % 8).toBe(0);
    const count = bytes.length / 8;
    for (let at = 0; at < count; at++) {
      const isJump = [0x15, 0x35, 0x45].includes(bytes[at * 8]!);
      const furthest = isJump ? Math.max(bytes[at * 8 + 2]!, bytes[at * 8 + 3]!) : 0;
      expect(at + 1 + furthest).toBeLessThan(count + (isJump ? 0 : 1));
    }
  }
  expect(seccompFilter("mips")).toBeNull();
});
