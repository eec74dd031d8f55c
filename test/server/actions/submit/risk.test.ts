import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { digestOf } from "../../../../server/actions/plan.ts";
import type { Plan, PlannedChange } from "../../../../server/actions/plan.ts";
import { assessAction, type RiskParts } from "../../../../server/actions/submit/risk.ts";
import { sha256 } from "../../../../server/db/chain.ts";
import { DEFAULT_WEIGHTS, mergeRisk } from "../../../../server/policy/risk_weights.ts";
import { NO_CIRCUMSTANCES } from "../../../../server/risk/facts.ts";

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
  before: { sha256: "0", bytes: 1000, mode: 0o644 },
  after: { sha256: "1", bytes: 1000, mode: null },
  ...over,
});
const risk = (over: Partial<RiskParts>) =>
  assessAction({
    plan: plan(),
    contents: [],
    decision: ALLOWED,
    analysis: null,
    root: "/p",
    user_home: "/home/user",
    irreversible: null,
    circumstances: NO_CIRCUMSTANCES,
    settings: mergeRisk([]),
    ...over,
  });
const ofCommand = (analysis: Partial<RiskParts["analysis"] & object>, cwd = "/p") =>
  risk({
    plan: plan({ tool: "run_command", cwd, command: "x" }),
    analysis: { ...NONE, ...analysis },
  });
const names = ({ factors }: ReturnType<typeof risk>) => factors.map(({ name }) => name);
const text = (content: string) => ({
  sha256: sha256(content),
  content: new TextEncoder().encode(content),
});
// Made here, so that no scanner takes this file for a leak.
const KEY = `AKIA${"IOSFODNN7EXAMPLE"}`;
const TERRAFORM = ofCommand({ commands: [["terraform", "apply"]] });

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
      risk({ plan: plan({ changes: [change({ path: "/home/user/x/a" })] }) }),
      ["outside", "overwrites"],
      "high",
    ],
    [
      "a file of the system",
      risk({ plan: plan({ changes: [change({ path: "/etc/a" })] }) }),
      ["system_file", "overwrites"],
      "high",
    ],
    [
      "an executable that shrinks",
      risk({
        plan: plan({
          changes: [
            change({
              before: { sha256: "0", bytes: 1000, mode: 0o755 },
              after: { sha256: "1", bytes: 10, mode: null },
            }),
          ],
        }),
      }),
      ["shrinks", "executable"],
      "low",
    ],
    [
      "a change that cannot be rolled back",
      risk({ irreversible: "too large" }),
      ["not_reversible"],
      "medium",
    ],
    ["a plain command", ofCommand({ commands: [["ls"]] }), [], "low"],
    [
      "a command that deletes and pushes",
      ofCommand({ commands: [["rm", "-r", "b"], ["git", "push"]], deletes: ["b"] }),
      ["deletes_folder", "pushes"],
      "high",
    ],
    [
      "a command that writes outside the project as root",
      ofCommand({ commands: [["sudo", "tee", "/etc/x"]], writes: ["/etc/x"], unresolved: ["$y"] }),
      ["system_file", "privilege"],
      "high",
    ],
    [
      "a command in a subfolder that writes a relative path",
      ofCommand({ commands: [["touch", "../a"]], writes: ["../a"] }, "/p/sub"),
      [],
      "low",
    ],
    [
      "a denied write, whose change is not planned",
      risk({
        plan: plan({
          accesses: [{
            access: "write",
            target: { lexical: "/p/.env", real: "/p/.env", shown: ".env" },
          }],
        }),
        decision: {
          ...ALLOWED,
          effect: "deny",
          rule: { pattern: ".env", list: "blockedPaths", source: "project" },
          reason: "no",
        },
      }),
      ["secret_file", "forbidden"],
      "high",
    ],
    [
      "a secret in a new file",
      risk({
        plan: plan({
          changes: [
            change({
              before: null,
              after: { sha256: sha256(`k = "${KEY}"`), bytes: 50, mode: null },
            }),
          ],
        }),
        contents: [text(`k = "${KEY}"`)],
      }),
      ["secret_in_content"],
      "high",
    ],
    [
      "a secret that the file had already",
      risk({
        plan: plan({
          changes: [
            change({
              before: { sha256: sha256(`k = "${KEY}"`), bytes: 50, mode: 0o644 },
              after: { sha256: sha256(`key = "${KEY}"`), bytes: 52, mode: null },
            }),
          ],
        }),
        contents: [text(`k = "${KEY}"`), text(`key = "${KEY}"`)],
      }),
      ["overwrites"],
      "low",
    ],
    [
      "a class that the config adds",
      risk({
        plan: plan({ changes: [change({ path: "/p/legal/terms.txt", shown: "legal/terms.txt" })] }),
        settings: mergeRisk([{ classes: [{ name: "legal", weight: 60, paths: ["legal/**"] }] }]),
      }),
      ["legal", "overwrites"],
      "high",
    ],
  ])("of %s", (_name, assessed, factors, level) => {
    expect({ factors: names(assessed), level: assessed.level }).toEqual({ factors, level });
    const sum = assessed.factors.reduce((all, { weight }) => all + weight, 0);
    expect(assessed.score).toBe(Math.min(100, sum));
    expect(assessed.factors.every(({ why }) => why !== "")).toBe(true);
  });

  test("a weight of the config changes the score, and the stricter layer wins", () => {
    const parts = {
      plan: plan({ tool: "run_command", cwd: "/p", command: "terraform apply" }),
      analysis: { ...NONE, commands: [["terraform", "apply"]] },
    };
    expect(risk(parts).score).toBe(DEFAULT_WEIGHTS.cloud_change);
    const weigh = (weights: number[]) =>
      risk({
        ...parts,
        settings: mergeRisk(weights.map((cloud_change) => ({ weights: { cloud_change } }))),
      });
    expect(weigh([20]).level).toBe("low");
    expect(weigh([20, 80]).level).toBe("critical");
  });

  test("unusual circumstances add to what changes something, and to nothing else", () => {
    const circumstances = {
      ...NO_CIRCUMSTANCES,
      outside_hours: true,
      burst: 90,
      first_time: '"terraform"',
    };
    const more = risk({
      plan: plan({ tool: "run_command", cwd: "/p", command: "terraform apply" }),
      analysis: { ...NONE, commands: [["terraform", "apply"]] },
      circumstances,
    });
    expect(names(more)).toEqual(["cloud_change", "burst", "first_time", "outside_hours"]);
    expect(more.score).toBeGreaterThan(TERRAFORM.score);
    const list = risk({
      plan: plan({ tool: "run_command", cwd: "/p", command: "ls" }),
      analysis: { ...NONE, commands: [["ls"]] },
      circumstances,
    });
    expect(list.factors).toEqual([]);
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
