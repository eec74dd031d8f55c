import { Buffer } from "node:buffer";
import { expect, test } from "vitest";
import { withEarlyOptimization } from "../../dist/bun_thresholds.ts";

const THEIRS = bytes(500, 100, 1_000, 1_000);

test("the four numbers are replaced in place, and nothing else", () => {
  const bun = Buffer.concat([Buffer.from("before"), THEIRS, Buffer.from("after")]);
  const given = Buffer.from(bun);
  const changed = Buffer.from(withEarlyOptimization(bun));
  expect(bun).toEqual(given);
  const ours = bytes(200, 50, 60, 60);
  expect(changed).toEqual(Buffer.concat([Buffer.from("before"), ours, Buffer.from("after")]));
});

test.each([
  ["without them", Buffer.from("Bun")],
  ["with them twice", Buffer.concat([THEIRS, THEIRS])],
])("another Bun, %s, fails the build", (_, bun) => {
  expect(() => withEarlyOptimization(bun)).toThrow(/Bun has changed/);
});

function bytes(...values: number[]): Buffer {
  return Buffer.from(Int32Array.from(values).buffer);
}
