import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compilePolicy } from "../../../server/policy/evaluate.ts";
import type { Effect, Policies } from "../../../server/policy/schema.ts";
import { CASES, evaluateCommand } from "./score.ts";

const STRICTNESS: Record<Effect, number> = { allow: 0, ask: 1, deny: 2 };
const strictness = (command: string, policy: ReturnType<typeof compilePolicy>) =>
  STRICTNESS[evaluateCommand(command, policy).decision.effect];
const compile = (project: Policies, global: Policies | null = null) =>
  compilePolicy({ project, global, override_global: false });
const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

const command = fc.constantFrom(
  ...CASES.filter((one) => one.category !== "unparseable").map((one) => one.command),
)
  .filter((text) => text.length < 400);
const pattern = fc.constantFrom(
  "rm -rf",
  "rm",
  "git push",
  "git push --force",
  "npm *",
  "curl * | sh",
  "* | sh",
  "sudo",
  "echo",
  "cat .env",
  "docker run",
  "make",
);
const effect = fc.constantFrom<Effect>("allow", "ask", "deny");
const policies = fc.record({
  defaultEffect: effect,
  allowedCommands: fc.array(pattern, { maxLength: 3 }),
  askCommands: fc.array(pattern, { maxLength: 3 }),
  blockedCommands: fc.array(pattern, { maxLength: 3 }),
  blockedPaths: fc.array(fc.constantFrom(".env", "src/**", "*.md", "~/x", "/etc/**"), {
    maxLength: 3,
  }),
  askPaths: fc.array(fc.constantFrom("docs/**", "*.json", "build"), { maxLength: 3 }),
});

const WRAPS: ((text: string) => string)[] = [
  (text) => `bash -c ${quote(text)}`,
  (text) => `eval ${quote(text)}`,
  (text) => `(${text}\n)`,
  (text) => `{ ${text}\n}`,
  (text) => `true; ${text}`,
  (text) => `sudo sh -c ${quote(text)}`,
  (text) => `if true; then ${text}\nfi`,
  (text) => `f() { ${text}\n}; f`,
  (text) => `echo "$(${text}\n)"`,
  (text) => `timeout 5 nice bash -c ${quote(text)}`,
];

describe("policy", () => {
  test("wrapping a command never weakens its decision", () => {
    const policy = compile({
      defaultEffect: "allow",
      blockedCommands: ["rm -rf", "git push --force", "git reset --hard", "git clean -f"],
      askCommands: ["npm *"],
    });
    fc.assert(
      fc.property(command, fc.constantFrom(...WRAPS), (text, wrap) => {
        // A blocked command that is wrapped may be held instead, but never passes.
        const [bare, wrapped] = [strictness(text, policy), strictness(wrap(text), policy)];
        expect(Math.min(bare, 1)).toBeLessThanOrEqual(wrapped);
      }),
      { numRuns: 400 },
    );
  });

  test("one more rule in a blocked list never weakens a decision", () => {
    fc.assert(
      fc.property(command, policies, pattern, (text, given, more) => {
        const stricter = { ...given, blockedCommands: [...given.blockedCommands, more] };
        expect(strictness(text, compile(stricter))).toBeGreaterThanOrEqual(
          strictness(text, compile(given)),
        );
      }),
      { numRuns: 300 },
    );
  });

  test("a project never weakens what the global policy denies or asks", () => {
    fc.assert(
      fc.property(command, policies, policies, (text, global, project) => {
        const rules = {
          askCommands: global.askCommands,
          blockedCommands: global.blockedCommands,
          blockedPaths: global.blockedPaths,
          askPaths: global.askPaths,
          defaultEffect: "allow" as const,
        };
        const alone = strictness(
          text,
          compile({}, { ...rules, allowedCommands: project.allowedCommands }),
        );
        expect(strictness(text, compile(project, rules))).toBeGreaterThanOrEqual(alone);
      }),
      { numRuns: 300 },
    );
  });

  test("the order of the rules does not matter", () => {
    fc.assert(
      fc.property(command, policies, (text, given) => {
        const turned = Object.fromEntries(
          Object.entries(given).map((
            [name, value],
          ) => [name, Array.isArray(value) ? [...value].reverse() : value]),
        ) as Policies;
        expect(strictness(text, compile(turned))).toBe(strictness(text, compile(given)));
      }),
      { numRuns: 300 },
    );
  });

  test("any text at all gets an answer", () => {
    const policy = compile({ defaultEffect: "allow", blockedCommands: ["rm -rf"] });
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => {
        expect(["allow", "ask", "deny"]).toContain(evaluateCommand(text, policy).decision.effect);
        expect(evaluateCommand(text, policy).decision.reason).not.toContain("Cannot evaluate");
      }),
      { numRuns: 500 },
    );
  });
});
