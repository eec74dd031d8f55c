import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { platform, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { closeHome, openHome } from "../../../server/runtime/home.ts";

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "gate-home-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const modeOf = (path: string) => statSync(path).mode & 0o777;

test.skipIf(platform() === "win32")(
  "a home is closed to others: its folders, tokens and keys, and nothing that a link leads to",
  () => {
    const home = join(folder, "home");
    openHome(home);
    const foreign = join(folder, "foreign");
    mkdirSync(foreign);
    writeFileSync(join(foreign, "secret"), "x", { mode: 0o644 });
    chmodSync(join(foreign, "secret"), 0o644);
    const token = join(home, "tokens", "reviewer");
    writeFileSync(token, "x", { mode: 0o600 });
    const own = join(home, "keys", "own");
    writeFileSync(own, "x", { mode: 0o400 });
    expect(closeHome(home)).toEqual([]);
    chmodSync(home, 0o755);
    chmodSync(token, 0o644);
    symlinkSync(join(foreign, "secret"), join(home, "tokens", "linked"));
    expect(closeHome(home)).toEqual([home, token]);
    expect([modeOf(home), modeOf(token), modeOf(own)]).toEqual([0o700, 0o600, 0o400]);
    expect(modeOf(join(foreign, "secret"))).toBe(0o644);
  },
);
