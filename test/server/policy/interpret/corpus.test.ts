import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { CASES, evaluateCommand } from "../score.ts";

describe("commands.jsonl", () => {
  test.each(CASES)("$id $category", (one) => {
    const { decision, analysis, matched } = evaluateCommand(one.command);
    if (one.expect === "stop") expect(decision.effect).not.toBe("allow");
    if (one.expect === "allow") expect(decision).toMatchObject({ effect: "allow" });
    if (one.category === "lookalike") expect(decision.effect).not.toBe("deny");
    expect(matched.map((rule) => rule.list)).not.toContain("evaluation");
    for (const [kind, paths] of Object.entries(one.effects ?? {})) {
      const found = analysis![kind as "reads"];
      if (paths.length === 0) expect(found).toEqual([]);
      else expect(found).toEqual(expect.arrayContaining(paths));
    }
    if (one.argv) expect(analysis!.commands).toContainEqual(one.argv);
    if (one.unresolved) expect(analysis!.unresolved.length).toBeGreaterThan(0);
  });

  test("the corpus is whole", () => {
    expect(CASES.length).toBeGreaterThan(500);
  });
});

describe("commands_more.jsonl", () => {
  const file = new URL("../../../corpora/commands_more.jsonl", import.meta.url);
  const more = readFileSync(file, "utf8").trim().split("\n")
    .map((line) => JSON.parse(line) as { expect: "stop" | "allow"; command: string });

  test("every command gets the expected decision", () => {
    const wrong = more.filter(({ expect, command }) =>
      (evaluateCommand(command).decision.effect === "allow") !== (expect === "allow")
    );
    expect(wrong).toEqual([]);
    expect(more.length).toBeGreaterThan(1_400);
  });
});
