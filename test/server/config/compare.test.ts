import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compareConfigs, type ConfigValue, onlyTightens } from "../../../server/config/compare.ts";
import { compilePolicy, evaluate, type Request } from "../../../server/policy/evaluate.ts";
import { combineLayers } from "../../../server/policy/layers.ts";
import { strictness } from "../../../server/policy/merge.ts";
import type { CompiledPolicy } from "../../../server/policy/policy.ts";
import type { Effect, Policies } from "../../../server/policy/schema.ts";
import { createTestGate, testCaller } from "../../helpers.ts";
import { AROUND, CASES, ROOT } from "../policy/score.ts";

const some = <T>(...values: T[]) =>
  fc.option(fc.uniqueArray(fc.constantFrom(...values), { maxLength: 3 }), { nil: undefined });
const PATHS = ["src/**", "*.md", ".env", "docs/**", "/etc/**", "~/x", "{a,/tmp}/**", "**"];
const COMMANDS = ["rm -rf", "git push", "npm *", "* | sh", "echo", "cat .env", "sudo", "make"];
const TOOLS = ["write_file", "read_file", "mcp__gate__*", "WebFetch", "mcp__*", "run_command"];

/** Random policies: every list, the default and the limits, each of them possibly absent. */
const policies: fc.Arbitrary<Policies> = fc.record({
  defaultEffect: fc.option(fc.constantFrom<Effect>("allow", "ask", "deny"), { nil: undefined }),
  allowedPaths: some(...PATHS),
  askPaths: some(...PATHS),
  blockedPaths: some(...PATHS),
  allowedCommands: some(...COMMANDS),
  askCommands: some(...COMMANDS),
  blockedCommands: some(...COMMANDS),
  allowedTools: some(...TOOLS),
  askTools: some(...TOOLS),
  blockedTools: some(...TOOLS),
  commandTimeoutSeconds: fc.option(fc.constantFrom(1, 600, 900), { nil: undefined }),
  maxBlobBytes: fc.option(fc.constantFrom(0, 67_108_864, 100_000_000), { nil: undefined }),
}).map((value) => JSON.parse(JSON.stringify(value)));

type Sandboxed = Policies["sandbox"];
const sandboxes = (before: Sandboxed, after: Sandboxed): [ConfigValue, ConfigValue] => [
  { policies: { sandbox: before } },
  { policies: { sandbox: after } },
];

const path = fc.constantFrom("src/a.ts", "README.md", ".env", "docs/x.md", "/etc/passwd", "/tmp/q")
  .map((one) => one.startsWith("/") ? one : `${ROOT}/${one}`);
const request: fc.Arbitrary<Request> = fc.oneof(
  fc.record({
    kind: fc.constant("path" as const),
    access: fc.constantFrom("read" as const, "write" as const, "delete" as const),
    path: path.map((one) => ({ lexical: one, real: one })),
    tool: fc.constantFrom(undefined, "write_file", "read_file"),
    is_plain_read: fc.boolean(),
  }).map(({ tool, ...one }) => tool === undefined ? one : { ...one, tool }),
  fc.record({
    kind: fc.constant("command" as const),
    command: fc.constantFrom(
      "echo hi",
      "rm -rf src",
      "git push origin",
      "npm run build",
      "cat .env > docs/a.md",
      "curl x | sh",
      "cp a.md src/",
      "sed -i s/a/b/ README.md",
      "make $X",
      "echo a > /etc/hosts",
      ...CASES.map(({ command }) => command).filter((text) => text.length < 200),
    ),
    cwd: fc.constant(ROOT),
    tool: fc.constant("run_command"),
  }),
  fc.record({
    kind: fc.constant("tool" as const),
    tool: fc.constantFrom("WebFetch", "mcp__github__push", "Other"),
    input: fc.constant({}),
  }),
);

const compile = (project: Policies, global: Policies | null = null) =>
  compilePolicy({ project, global, override_global: false });
const strictnessOf = (policy: CompiledPolicy, one: Request) =>
  strictness(evaluate(policy, one, AROUND).decision.effect);

describe("a policy in layers", () => {
  test("is exactly as strict as the strictest of its layers", () => {
    fc.assert(
      fc.property(policies, policies, policies, request, (accepted, file, global, one) => {
        const [a, b] = [compile(accepted, global), compile(file, global)];
        const both = combineLayers([{ compiled: a }, { compiled: b }]);
        expect(strictnessOf(both, one)).toBe(Math.max(strictnessOf(a, one), strictnessOf(b, one)));
        for (const [name, value] of Object.entries(both.limits)) {
          const key = name as keyof typeof both.limits;
          expect(value).toBe(Math.min(a.limits[key], b.limits[key]));
        }
      }),
      { numRuns: 1_500 },
    );
  });
});

const LIMITS = ["commandTimeoutSeconds", "maxBlobBytes"] as const;

describe("onlyTightens()", () => {
  test("is never true for a change that lets anything more happen", () => {
    let tightened = 0;
    fc.assert(
      fc.property(policies, policies, policies, request, (one, more, global, asked) => {
        const was = compile(one, global);
        const before = strictnessOf(was, asked);
        // Mostly small changes, because two random policies hardly ever only tighten.
        for (const [key, value] of Object.entries(more)) {
          const after = { ...one, [key]: Array.isArray(value) ? merge(one[key], value) : value };
          check(after);
          const { [key]: _, ...less } = one;
          check(less);
        }

        function check(after: Policies) {
          const changes = compareConfigs({ policies: one }, { policies: after }, [global]);
          if (!onlyTightens(changes)) return;
          tightened++;
          const is = compile(after, global);
          const isLaxer = strictnessOf(is, asked) < before ||
            LIMITS.some((key) => is.limits[key] > was.limits[key]);
          // Vitest's own comparison of each would take longer than the comparison of the policies.
          if (isLaxer) expect.fail(JSON.stringify({ before: one, after, global, asked }));
        }
      }),
      { numRuns: 600 },
    );
    expect(tightened).toBeGreaterThan(500);
  });

  test.each<[string, ConfigValue, ConfigValue, boolean]>([
    ["a rule that denies is added", {}, { policies: { blockedPaths: ["x"] } }, true],
    ["a rule that denies is removed", { policies: { blockedPaths: ["x"] } }, {}, false],
    ["a rule that asks is added", {}, { policies: { askTools: ["x"] } }, true],
    [
      "a rule that asks is added beside a default that denies",
      { policies: { defaultEffect: "deny" } },
      { policies: { defaultEffect: "deny", askPaths: ["x"] } },
      false,
    ],
    ["a rule that asks names a file outside", {}, { policies: { askPaths: ["~/x"] } }, false],
    ["a rule that allows is added", {}, { policies: { allowedTools: ["x"] } }, false],
    ["a rule that allows is removed", { policies: { allowedTools: ["x"] } }, {}, true],
    [
      "a rule that denies gets narrower arguments",
      { policies: { blockedTools: [{ pattern: "x" }] } },
      { policies: { blockedTools: [{ pattern: "x", args: { a: "b" } }] } },
      false,
    ],
    [
      "only a reason changes",
      { policies: { blockedTools: [{ pattern: "x", reason: "a" }] } },
      { policies: { blockedTools: ["x"] } },
      true,
    ],
    ["the default gets laxer", {}, { policies: { defaultEffect: "allow" } }, false],
    ["the default goes", { policies: { defaultEffect: "deny" } }, {}, false],
    ["a limit grows", {}, { policies: { commandTimeoutSeconds: 601 } }, false],
    ["a limit shrinks", {}, { policies: { commandTimeoutSeconds: 599 } }, true],
    ["the override is wanted", {}, { overrideGlobal: true }, false],
    ["the override goes, with a laxer machine", { overrideGlobal: true }, {}, false],
    ["the proof of a decision changes", {}, { approvals: { proof: "token" } }, false],
    ["the sandbox becomes off", ...sandboxes({}, { mode: "off" }), true],
    ["the sandbox becomes always", ...sandboxes({ mode: "auto" }, { mode: "always" }), true],
    ["the sandbox answers questions", ...sandboxes({ mode: "off" }, { mode: "auto" }), false],
    ["the sandbox no longer is off", ...sandboxes({ mode: "off" }, {}), false],
    ["always becomes auto", ...sandboxes({ mode: "always" }, { mode: "auto" }), false],
    ["always becomes off", ...sandboxes({ mode: "always" }, { mode: "off" }), false],
    ["off becomes always", ...sandboxes({ mode: "off" }, { mode: "always" }), false],
    ["the network opens", ...sandboxes({ network: "none" }, { network: "all" }), false],
    ["the network opens from the default", ...sandboxes({}, { network: "all" }), false],
    ["the network is as wide as by default", ...sandboxes({}, { network: "loopback" }), true],
    ["the network closes", ...sandboxes({ network: "all" }, { network: "none" }), true],
    ["another config decides on the network", ...sandboxes({ network: "none" }, {}), false],
    ["a host appears", ...sandboxes({ hosts: ["a.test"] }, { hosts: ["a.test", "b.test"] }), false],
    ["a host goes", ...sandboxes({ hosts: ["a.test", "b.test"] }, { hosts: ["b.test"] }), true],
    ["a writable folder appears", ...sandboxes({}, { writable: ["~/.cache/x"] }), false],
    ["a writable folder goes", ...sandboxes({ writable: ["/data"] }, { writable: [] }), true],
    ["no folder is named any more", ...sandboxes({ writable: [] }, {}), false],
    ["an unknown key of the policies appears", {}, { policies: { sandboxes: "off" } }, false],
    ["a key that no release reads appears", {}, { "x-note": 1, $schema: "s" }, true],
    ["the id and the platforms change", { id: "a" }, { id: "b", platforms: [] }, true],
  ])("%s: %#", (_, before, after, expected) => {
    expect(onlyTightens(compareConfigs(before, after))).toBe(expected);
  });
});

test("files and accepted texts: what is in force is never laxer than either", async () => {
  const gate = await createTestGate({ policies: { defaultEffect: "allow" } });
  const { config } = gate.project;
  const file = join(gate.root, "gate.config.json");
  const write = (value: Policies) =>
    writeFileSync(file, JSON.stringify({ id: "test", policies: value }));
  const accept = async () => {
    const [change] = (await config.view()).outside_changes;
    if (change) {
      const seen = { path: change.path, sha256: change.after_sha256 };
      await config.changes.accept(seen, testCaller("reviewer"));
    }
  };
  await fc.assert(
    fc.asyncProperty(policies, policies, fc.array(request, { minLength: 5, maxLength: 20 }), run),
    { numRuns: 40 },
  );

  async function run(accepted: Policies, changed: Policies, requests: Request[]) {
    write(accepted);
    await accept();
    write(changed);
    const { compiled } = await config.inForce();
    for (const one of requests) {
      const least = Math.max(
        strictnessOf(compile(accepted), one),
        strictnessOf(compile(changed), one),
      );
      expect(strictnessOf(compiled, one)).toBe(least);
    }
  }
});

function merge(old: unknown, more: unknown[]): unknown[] {
  return [...new Set([...Array.isArray(old) ? old : [], ...more])];
}
