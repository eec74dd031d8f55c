import { basename, isAbsolute } from "node:path";
import { expect, test } from "vitest";
import { selfCommand } from "../../../server/runtime/self.ts";

test("selfCommand() names this runtime and the entry it can run", () => {
  const { command, args } = selfCommand();
  const isDeno = "Deno" in globalThis;
  expect(isAbsolute(command)).toBe(true);
  expect(basename(args.at(-1)!)).toBe(isDeno || "Bun" in globalThis ? "main.ts" : "gate.mjs");
  expect(isAbsolute(args.at(-1)!)).toBe(true);
});
