import { describe, expect, test } from "vitest";
import { compilePolicy } from "../../../server/policy/evaluate.ts";
import type { Policies } from "../../../server/policy/schema.ts";
import { createTestGate } from "../../helpers.ts";
import { evaluateCommand } from "./score.ts";

const evaluated = (text: string, project: Policies) =>
  evaluateCommand(text, compilePolicy({ project, global: null, override_global: false }));

const RULES: Policies = { allowedCommands: ["ls", "cat", "bash", "sh", "find", "xargs", "env"] };

describe("a rule that allows a program", () => {
  test.each([
    ["hash -p /bin/bash cat; cat src/x", '"hash"'],
    ["cat $(ls)", "command substitution"],
    ["x=(ls); cat x", "subshell"],
    ["RANDOM='a[$(cmd)]'; ls", "RANDOM"],
    ["ls *(e:'cmd':)", "subshell"],
    ["ls =cat", '"="'],
    ["ls {a,b}", "braces"],
    ["bash -c 'ls; shopt -s extglob'", '"shopt"'],
    ["env A=b sh -c 'cat $A'", "does not set"],
    ["find src -exec sh -c 'ls \"$0\"' {} ';'", "variable"],
    ["bash -c 'bash -c \"ls &\"'", "background"],
  ])("does not allow %s, because of %s", (text, part) => {
    const { decision, matched, asks } = evaluated(text, RULES);
    expect(decision.effect).not.toBe("allow");
    if (decision.rule?.list === "unproved") {
      expect(decision.reason).toContain("The command cannot be proved: ");
      expect(decision.reason).toContain(part);
    }
    expect([...matched.map(({ list }) => list), ...asks.map(({ rule }) => rule?.list)])
      .toContain("unproved");
  });

  test("names the part of the text", () => {
    const { decision, span } = evaluated("ls src && cat a{b,c}", RULES);
    const rule = { pattern: "$…", list: "unproved", source: "builtin" };
    expect(decision).toMatchObject({ effect: "ask", rule });
    expect(span).toBe("{");
  });

  test("leaves the reason to every other question", () => {
    expect(evaluated("ls $X; rm a", RULES).decision.rule?.list).not.toBe("unproved");
    expect(evaluated("rm {a,b}", RULES).decision.rule).toBeNull();
  });
});

test("a default that allows needs no proof, a rule that blocks none either", () => {
  expect(evaluated("if true; then ls; fi", { defaultEffect: "allow" }).decision.effect)
    .toBe("allow");
  const policies: Policies = { defaultEffect: "deny", blockedCommands: ["rm"] };
  const { decision } = evaluated("if true; then rm x; fi", policies);
  expect(decision).toMatchObject({ effect: "deny", rule: { list: "blockedCommands" } });
});

describe("through the front door", () => {
  const open = () =>
    createTestGate({ policies: RULES, files: { "a.txt": "a", "b.txt": "b", "src/c": "c" } });

  test.each([
    ["cat *.txt", "approved"],
    ["cat a.txt | cat > /dev/null", "approved"],
    ["cat ?.txt", "pending"],
    ["cat **", "pending"],
    ["./src; cat c", "pending"],
    ['for f in *.txt; do cat "$f"; done', "approved"],
    ["for f in $(ls); do cat $f; done", "pending"],
  ])("%s is %s", async (command, status) => {
    const gate = await open();
    const answer = await gate.request(
      "POST",
      "/api/actions",
      { tool: "run_command", input: { command } },
      "agent",
    );
    expect(await answer.json()).toMatchObject({ status });
  });
});
