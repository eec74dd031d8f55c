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
    const isLandlock = found.engine.name === "landlock";
    expect(found.engine.can_mask).toBe(!isLandlock);
    expect(found.engine.version).toMatch(isLandlock ? /^\d+$/ : /^\d+\.\d+/);
  } else expect(found.why).toMatch(/bubblewrap|no sandbox on/);
});

test.runIf(isLinux)("a missing program is none, with the way to install it", async () => {
  const found = await lookForEngine({ bubblewrap: ["/nowhere/bwrap"], confine: null });
  expect(found).toMatchObject({
    engine: null,
    why: "bubblewrap is not installed; nor can it be Landlock: Node makes no system calls; " +
      "gate's own executable does",
  });
  expect(found.fix).toContain("apt install bubblewrap");
});

test.runIf(isLinux)("a program that a user can change is none", async () => {
  const folder = createTempFolder("engine");
  mkdirSync(join(folder, "bin"));
  const path = join(folder, "bin/bwrap");
  writeFileSync(path, "#!/bin/sh\necho bubblewrap 9.9.9\n", { mode: 0o755 });
  chmodSync(join(folder, "bin"), 0o777);
  expect((await lookForEngine({ bubblewrap: [path], confine: null })).why)
    .toMatch(/belongs to a user, or one can write it/);
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
  const shared = [null, { network: false }, { network: true }];
  for (
    const [architecture, filter] of shared.flatMap((one) =>
      ["x64", "arm64"].map((name) => [name, one] as const)
    )
  ) {
    const bytes = seccompFilter(architecture, filter)!;
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

test.runIf(isLinux)("a program that says it restricts itself and does not is none", async () => {
  const folder = createTempFolder("engine");
  const liar = join(folder, "liar");
  // It tells a version, and runs the command bare.
  writeFileSync(
    liar,
    '#!/bin/bash\nif [ "$1" = version ]; then echo 7; else exec "$@"; fi\n',
    { mode: 0o755 },
  );
  const found = await lookForEngine({ bubblewrap: [], confine: [liar] });
  expect(found.engine).toBeNull();
  expect(found.why).toContain("Landlock: it let out: secret");
  const old = join(folder, "old");
  writeFileSync(old, "#!/bin/bash\necho 4\n", { mode: 0o755 });
  expect((await lookForEngine({ bubblewrap: [], confine: [old] })).why)
    .toContain("version 4 of this kernel is too old");
  const none = join(folder, "none");
  writeFileSync(none, "#!/bin/bash\necho 0\n", { mode: 0o755 });
  expect((await lookForEngine({ bubblewrap: [], confine: [none] })).why)
    .toContain("this kernel has none");
});

test("on macOS the program of the system is really tried", async () => {
  const found = await lookForEngine({ system: "darwin", seatbelt: "/nowhere/sandbox-exec" });
  expect(found).toMatchObject({ engine: null, why: '"/nowhere/sandbox-exec" is not there' });
  const folder = createTempFolder("seatbelt");
  const fake = join(folder, "sandbox-exec");
  writeFileSync(fake, '#!/bin/sh\nshift 2; exec "$@"\n', { mode: 0o755 });
  const bare = await lookForEngine({ system: "darwin", seatbelt: fake });
  expect(bare.engine).toBeNull();
});
