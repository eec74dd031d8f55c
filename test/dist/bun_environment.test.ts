import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { withoutOwnVariables } from "../../dist/bun_environment.ts";
import { fetchMachine, MACHINES } from "../../dist/targets.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const NAMES = [
  "BUN_OPTIONS",
  "BUN_BE_BUN",
  "BUN_INSPECT",
  "BUN_INSPECT_PRELOAD",
  "NODE_CHANNEL_FD",
];

describe("withoutOwnVariables()", () => {
  test.for(["linux-x64", "darwin-x64", "darwin-arm64"])(
    "changes the names in Bun for %s and nothing else",
    { timeout: 120_000 },
    async (name, { skip }) => {
      const machine = MACHINES.find((known) => known.name === name)!;
      const fetched = await fetchMachine(ROOT, machine).catch(unlessOffline);
      if (!fetched) return skip("the package registry cannot be reached");
      const bun = readFileSync(fetched.bun);
      const changed = withoutOwnVariables(bun);
      const after = Buffer.from(changed.buffer, changed.byteOffset, changed.length);
      for (const known of NAMES) {
        const text = `\0${known}\0`;
        expect([bun.includes(text), after.includes(text)], known).toEqual([true, false]);
      }
      expect(after.includes("process.env.BUN_INSPECT_NOTIFY")).toBe(true); // a JavaScript source
      // Every changed byte is the first of a name, except one in the check for BUN_JSC_.
      const starts = [..."BJN"].map((letter) => letter.charCodeAt(0));
      const others = [...changedBytes(bun, after)].filter((byte) => !starts.includes(byte));
      expect(others).toHaveLength(1);
      expect(changed).toHaveLength(bun.length);
    },
  );

  test("fails when a name is not where it is expected", () => {
    expect(() => withoutOwnVariables(Buffer.from("\0BUN_OPTIONS\0"))).toThrow(
      'Cannot make Bun ignore "BUN_BE_BUN": Bun has changed',
    );
  });

  test("fails when the check for the engine's options is not found", () => {
    const names = ["BUN_BYTECODE_DIGEST_OUT", "BUN_BYTECODE_ORDER_OUT", "BUN_INSPECT_CONNECT_TO"];
    names.push("BUN_FEATURE_FLAG_NO_ORPHANS", "BUN_RUNTIME_TRANSPILER_CACHE_PATH");
    const text = `\0${[...NAMES, ...names, "NODE_COMPILE_CACHE"].join("\0\0")}\0`.padEnd(2_000);
    expect(() => withoutOwnVariables(Buffer.from(text))).toThrow("Bun has 0 such checks");
  });
});

/** The bytes of one file that differ in the other, compared in blocks because few do. */
function* changedBytes(one: Buffer, other: Buffer): Generator<number> {
  const BLOCK = 65_536;
  for (let from = 0; from < one.length; from += BLOCK) {
    const block = one.subarray(from, from + BLOCK);
    if (block.equals(other.subarray(from, from + BLOCK))) continue;
    for (const [at, byte] of block.entries()) if (byte !== other[from + at]) yield byte;
  }
}

function unlessOffline(error: Error): undefined {
  if (!/npm|ENOTFOUND|EAI_AGAIN/.test(error.message)) throw error;
}
