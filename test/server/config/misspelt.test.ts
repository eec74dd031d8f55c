import { expect, test } from "vitest";
import { parseConfig } from "../../../server/config/load.ts";
import { describeUnknown } from "../../../server/config/misspelt.ts";
import { ProjectConfig } from "../../../server/config/schema.ts";

const FILE = "gate.config.json";

/** Parses a config. Returns its value and the warnings about its keys. */
function read(config: Record<string, unknown>) {
  const { value, error, unknown } = parseConfig(FILE, JSON.stringify(config), ProjectConfig);
  return { value, error, warnings: unknown.map((one) => describeUnknown(one, FILE)) };
}

test.each([
  [{ extend: "global" }, '"extend" in gate.config.json has no effect: did you mean "extends"?'],
  [{ overideGlobal: true }, 'did you mean "overrideGlobal"?'],
  [{ platform: ["codex"] }, 'did you mean "platforms"?'],
  [{ policies: { allowPaths: ["src/**"] } }, 'did you mean "allowedPaths"?'],
  [{ policies: { maxBashOutputByte: 1 } }, 'did you mean "maxBashOutputBytes"?'],
  [
    { policies: { askPaths: [{ pattern: "x", reson: "y" }] } },
    '"reson" in the policies of gate.config.json has no effect: did you mean "reason"?',
  ],
  [{ policies: { colour: "red" } }, '"colour" in the policies of gate.config.json has no effect'],
  [{ colour: "red" }, '"colour" in gate.config.json has no effect: no such key is known'],
])("a misspelt key is kept and causes a warning: %j", (config, told) => {
  const { value, error, warnings } = read(config);
  expect({ value, error }).toEqual({ value: config, error: null });
  expect(warnings).toEqual([expect.stringContaining(told)]);
});

test.each([
  { $schema: "x", "x-owner": "me" },
  { policies: { blockedPaths: ["x"], askPaths: [{ pattern: "y", owner: "me", since: 1 }] } },
])("an unknown key of another program causes no warning: %j", (config) => {
  const { value, error, warnings } = read(config);
  expect({ value, error }).toEqual({ value: config, error: null });
  expect(warnings.filter((warning) => warning !== null)).toEqual([]);
});
