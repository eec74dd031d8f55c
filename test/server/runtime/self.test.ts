import { basename, isAbsolute } from "node:path";
import { expect, test } from "vitest";
import { selfCommand } from "../../../server/runtime/self.ts";

test("selfCommand() names this runtime and the entry it can run", () => {
  const { command, args } = selfCommand();
  const isDeno = "Deno" in globalThis;
  const entry = args.at(-1) ?? command;
  const onNode = ["gate", "gate.mjs"]; // the executable, where it is built
  expect(isAbsolute(command)).toBe(true);
  expect(isDeno || "Bun" in globalThis ? ["main.ts"] : onNode).toContain(basename(entry));
  expect(isAbsolute(entry)).toBe(true);
});
