import { expect, test } from "vitest";
import { agentName, personName } from "../../../server/shown/agent_name.ts";

test.each([
  ...["reviewer", "policy", "gate", "system", "you", "Reviewer", "the policy", "You (reviewer)"],
  ...["person anna", "agent", 'agent "x"', " you", "\u200byou", "ｙｏｕ", '"x"', "[person] anna"],
])("%j says that an agent chose it", (name) => {
  expect(agentName(name)).toBe(`agent "${name}"`);
});

test.each(["claude-code", "codex", "Gateway", "systemd", "your-bot", "anna", "Mein Agent", "日本"])(
  "%j stays as it is",
  (name) => expect(agentName(name)).toBe(name),
);

test("no agent's name reads like a person's", () => {
  for (const name of ["anna", "you", "reviewer"]) {
    expect(agentName(personName(name))).not.toMatch(/^person/);
  }
});
