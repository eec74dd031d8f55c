import { Buffer } from "node:buffer";
import { expect, test } from "vitest";
import { withPlainCrash } from "../../dist/bun_crash.ts";

const THEIRS = "Bun has crashed. This indicates a bug in Bun, not your code.\n\n" +
  "To send a redacted crash report to Bun's team,\n" +
  "please file a GitHub issue using the link below:\n\n";

test("each message is replaced in place, and nothing else", () => {
  const bun = Buffer.from(`\0a${THEIRS}b\0${THEIRS}c`);
  const before = Buffer.from(bun);
  const changed = Buffer.from(withPlainCrash(bun)).toString();
  expect(bun).toEqual(before);
  expect(changed).toHaveLength(bun.length);
  expect(changed.replaceAll(/this program cannot run here\.[^]*?\n\n/g, "X")).toBe("\0aXb\0Xc");
  expect(changed.match(/needs \/proc:\n {2}mount -t proc proc \/proc\n/g)).toHaveLength(2);
});

test("another Bun fails the build", () => {
  expect(() => withPlainCrash(Buffer.from("Bun"))).toThrow(/Bun has changed/);
});
