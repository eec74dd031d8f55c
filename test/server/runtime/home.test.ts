import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { platform, tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { expect, onTestFinished, test } from "vitest";
import { openHome } from "../../../server/runtime/home.ts";

const modeOf = (path: string) => statSync(path).mode & 0o777;

function makeBase(): string {
  const base = mkdtempSync(join(tmpdir(), "gate-home-"));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  return base;
}

test.skipIf(platform() === "win32")("the folder and what belongs in it are private", () => {
  const home = join(makeBase(), "a", "b");
  openHome(home);
  openHome(home);
  for (const name of ["", "keys", "logs", "projects", "run", "tokens"]) {
    expect(modeOf(join(home, name))).toBe(0o700);
  }
});

test.skipIf(platform() === "win32")("others who may read it are shut out", () => {
  const home = makeBase();
  chmodSync(home, 0o755);
  openHome(home);
  expect(modeOf(home)).toBe(0o700);
});

test.skipIf(platform() === "win32").each([0o770, 0o702, 0o777])(
  "a folder that others may write to is refused, with what mends it: %o",
  (mode) => {
    const home = makeBase();
    chmodSync(home, mode);
    expect(() => openHome(home)).toThrow(`chmod go-rwx "${home}"`);
    expect(modeOf(home)).toBe(mode);
  },
);

// Nobody but root can give a folder away, so only root can try this.
test.skipIf(process.getuid?.() !== 0)("a folder of somebody else is refused", () => {
  const home = makeBase();
  chownSync(home, 12345, 12345);
  expect(() => openHome(home)).toThrow("user 12345 owns it, not you");
});

test.skipIf(platform() === "win32")("so is a folder within it", () => {
  const home = makeBase();
  mkdirSync(join(home, "keys"));
  chmodSync(join(home, "keys"), 0o777);
  expect(() => openHome(home)).toThrow("others may write to it");
});

test("a file in its place is refused and left alone", () => {
  const home = join(makeBase(), "file");
  writeFileSync(home, "mine");
  expect(() => openHome(home)).toThrow("it is not a folder");
  expect(lstatSync(home).isFile()).toBe(true);
});

test.skipIf(platform() === "win32")("a link of one's own is judged by what it points to", () => {
  const base = makeBase();
  mkdirSync(join(base, "real"), { mode: 0o700 });
  symlinkSync(join(base, "real"), join(base, "link"));
  openHome(join(base, "link"));
  chmodSync(join(base, "real"), 0o777);
  expect(() => openHome(join(base, "link"))).toThrow("others may write to it");
});

test.skipIf(platform() === "win32")("one that cannot be made is refused in words", () => {
  const home = join(makeBase(), "file", "home");
  writeFileSync(join(home, ".."), "");
  expect(() => openHome(home)).toThrow(
    `Cannot use the data folder "${home}": it cannot be created: a part of its path is not a folder; set`,
  );
});
