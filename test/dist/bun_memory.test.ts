import { Buffer } from "node:buffer";
import { describe, expect, test } from "vitest";
import { withLaterPurge } from "../../dist/bun_memory.ts";

const PURGE_DELAY = 15;
const PURGE_HOLES_MIN_INTERVAL = 52;

describe.each([["a system with long numbers", 8], ["Windows", 4]])("on %s", (_, width) => {
  test("the two times are replaced in place, and nothing else", () => {
    const bun = Buffer.concat([Buffer.from("before"), tableOf(100, width), Buffer.from("after")]);
    const given = Buffer.from(bun);
    const changed = Buffer.from(withLaterPurge(bun));
    expect(bun).toEqual(given);
    expect(changed).toEqual(
      Buffer.concat([Buffer.from("before"), tableOf(5_000, width), Buffer.from("after")]),
    );
  });

  test.each([
    ["without the table", Buffer.from("Bun")],
    ["with it twice", Buffer.concat([tableOf(100, width), tableOf(100, width)])],
    ["with half of it", tableOf(100, width).subarray(0, 40 * 32)],
    ["with other times", tableOf(200, width)],
  ])("another Bun, %s, fails the build", (_, bun) => {
    expect(() => withLaterPurge(bun)).toThrow(/Bun has changed/);
  });
});

/** A table of 56 options, the two with this value and the others with a seven. */
function tableOf(value: number, width: number): Buffer {
  const table = Buffer.alloc(56 * 32);
  for (let place = 0; place < 56; place++) {
    const isOurs = place === PURGE_DELAY || place === PURGE_HOLES_MIN_INTERVAL;
    table.writeInt32LE(isOurs ? value : 7, place * 32);
    table.writeInt32LE(place, place * 32 + width + 4);
    table.writeBigUInt64LE(0x231296n, place * 32 + 16);
  }
  return table;
}
