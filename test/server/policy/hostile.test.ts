import { describe, expect, test } from "vitest";
import { isVariable } from "../../../server/policy/command_match.ts";
import { compilePolicy, evaluate } from "../../../server/policy/evaluate.ts";
import { HOSTILE_COMMANDS, HOSTILE_MEETINGS, HOSTILE_POLICY } from "./hostile.ts";
import { AROUND, evaluateCommand, ROOT } from "./score.ts";

const mean = compilePolicy({ global: null, project: HOSTILE_POLICY, override_global: false });

describe("a hostile command never gets allow", () => {
  test.each(Object.entries(HOSTILE_COMMANDS))("%s", (_name, command) => {
    const { decision, matched } = evaluateCommand(command);
    expect(decision.effect).not.toBe("allow");
    expect(matched.map(({ list }) => list)).not.toContain("evaluation");
  });

  test.each(Object.entries(HOSTILE_MEETINGS))("%s", (_name, command) => {
    expect(evaluateCommand(command, mean).decision.effect).not.toBe("allow");
  });
});

test("patterns that cost more than a decision may cost deny", () => {
  const globs = Array.from({ length: 900 }, (_, at) => `**/${"?*".repeat(60)}${at}`);
  const policy = compilePolicy({
    global: null,
    project: { defaultEffect: "allow", blockedPaths: globs },
    override_global: false,
  });
  const path = `${ROOT}/${"a/".repeat(1_000)}${"a".repeat(250)}5`;
  const request = { kind: "path", access: "write", path: { lexical: path, real: path } } as const;
  const { decision } = evaluate(policy, request, AROUND);
  expect(decision).toMatchObject({ effect: "deny", rule: { list: "evaluation" } });
});

test("the next decision is not charged for the one before", () => {
  for (let round = 0; round < 3; round++) {
    for (const command of Object.values(HOSTILE_MEETINGS)) evaluateCommand(command, mean);
    expect(evaluateCommand("echo hello", mean).decision.effect).toBe("allow");
  }
});

test.each([
  ["NAME=value", true],
  ["PATH=/srv/bin", false],
  [`${"a".repeat(256)}=1`, true],
  [`${"a".repeat(257)}=1`, false],
  ["a-b=1", false],
])("whether %j sets a variable is found within a bound", (word, expected) => {
  expect(isVariable(word)).toBe(expected);
});
