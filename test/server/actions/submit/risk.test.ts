import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { digestOf } from "../../../../server/actions/plan.ts";
import type { Plan, PlannedChange } from "../../../../server/actions/plan.ts";
import { assessRisk, type RiskFacts } from "../../../../server/actions/submit/risk.ts";

const ALLOWED = {
  effect: "allow" as const,
  rule: null,
  reason: "",
  alternative: null,
  sandbox: null,
};
const NONE = { commands: [], reads: [], writes: [], deletes: [], unresolved: [] };

const plan = (over: Partial<Plan> = {}): Plan => ({
  tool: "write_file",
  path: "a",
  command: null,
  cwd: null,
  accesses: [],
  input: {},
  input_sha256: null,
  changes: [],
  scripts: [],
  emptied_folders: [],
  ...over,
});
const change = (over: Partial<PlannedChange> = {}): PlannedChange => ({
  path: "/p/a",
  shown: "a",
  before: { sha256: "0", bytes: 100, mode: 0o644 },
  after: { sha256: "1", bytes: 100, mode: null },
  ...over,
});
const risk = (over: Partial<RiskFacts>) =>
  assessRisk({
    plan: plan(),
    decision: ALLOWED,
    analysis: null,
    root: "/p",
    irreversible: null,
    reversibility: null,
    ...over,
  });
const ofCommand = (analysis: Partial<RiskFacts["analysis"] & object>, cwd = "/p") =>
  risk({ plan: plan({ tool: "run_command", cwd }), analysis: { ...NONE, ...analysis } });
const names = ({ factors }: ReturnType<typeof risk>) => factors.map(({ name }) => name);

describe("risk", () => {
  test.each<[string, ReturnType<typeof risk>, string[], string]>([
    [
      "a new file",
      risk({ plan: plan({ changes: [change({ before: null })] }) }),
      ["creates"],
      "low",
    ],
    ["an existing file", risk({ plan: plan({ changes: [change()] }) }), ["overwrites"], "low"],
    [
      "a deletion",
      risk({ plan: plan({ changes: [change({ after: null })] }) }),
      ["deletes"],
      "medium",
    ],
    [
      "a file outside the project",
      risk({ plan: plan({ changes: [change({ path: "/etc/a" })] }) }),
      ["outside", "overwrites"],
      "high",
    ],
    [
      "an executable that shrinks",
      risk({
        plan: plan({
          changes: [
            change({
              before: { sha256: "0", bytes: 100, mode: 0o755 },
              after: { sha256: "1", bytes: 10, mode: null },
            }),
          ],
        }),
      }),
      ["overwrites", "shrinks", "executable"],
      "medium",
    ],
    [
      "a change that cannot be rolled back",
      risk({ irreversible: "too large" }),
      ["not_reversible"],
      "low",
    ],
    ["a plain command", ofCommand({ commands: [["ls"]] }), ["not_reversible"], "low"],
    [
      "a command that deletes and pushes",
      ofCommand({ commands: [["rm", "-r", "b"], ["git", "push"]], deletes: ["b"] }),
      ["deletes", "publishes", "not_reversible"],
      "high",
    ],
    [
      "a command that writes outside the project as root",
      ofCommand({ commands: [["sudo", "tee", "/etc/x"]], writes: ["/etc/x"], unresolved: ["$y"] }),
      ["outside", "writes", "unresolved", "privilege", "not_reversible"],
      "critical",
    ],
    [
      "a command in a subfolder that writes a relative path",
      ofCommand({ commands: [["touch", "../a"]], writes: ["../a"] }, "/p/sub"),
      ["writes", "not_reversible"],
      "low",
    ],
  ])("of %s", (_name, assessed, factors, level) => {
    expect({ factors: names(assessed), level: assessed.level }).toEqual({ factors, level });
    const sum = assessed.factors.reduce((all, { weight }) => all + weight, 0);
    expect(assessed.score).toBe(Math.min(100, sum));
    expect(assessed.factors.every(({ why }) => why !== "")).toBe(true);
  });
});

describe("digest", () => {
  const whole = plan({
    command: "sh x",
    cwd: "/p",
    changes: [change()],
    scripts: [{ path: "/p/x", sha256: "2" }],
    accesses: [{ access: "write", target: { lexical: "/p/a", real: "/p/a", shown: "a" } }],
  });

  test.each<[string, Partial<Plan>]>([
    ["the tool", { tool: "edit_file" }],
    ["the command", { command: "sh y" }],
    ["the folder", { cwd: "/q" }],
    ["a script's content", { scripts: [{ path: "/p/x", sha256: "3" }] }],
    ["the file", { changes: [change({ path: "/p/b" })] }],
    ["the new content", { changes: [change({ after: { sha256: "9", bytes: 1, mode: null } })] }],
    ["the mode", { changes: [change({ after: { sha256: "1", bytes: 100, mode: 0o755 } })] }],
    ["the current content", { changes: [change({ before: null })] }],
    ["the accesses", { accesses: [] }],
    ["the input of another host's tool", { input_sha256: "4" }],
  ])("changes with %s", (_name, over) => {
    expect(digestOf({ ...whole, ...over })).not.toBe(digestOf(whole));
  });

  test("does not depend on the order of keys or the spelling of a path", () => {
    fc.assert(fc.property(fc.constantFrom("a", "./a", "/p/a"), (path) => {
      const same = Object.fromEntries(Object.entries(whole).reverse()) as unknown as Plan;
      expect(digestOf({ ...same, path, input: { path } })).toBe(digestOf(whole));
    }));
  });
});
