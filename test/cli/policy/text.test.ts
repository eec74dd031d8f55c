import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import type { Io } from "../../../cli/io.ts";
import { describe, explain, scoreCard } from "../../../cli/policy/text.ts";
import { compilePolicy, evaluate } from "../../../server/policy/evaluate.ts";
import { scoreCorpus } from "../../../server/policy/bench.ts";
import type { PolicyTestResult } from "../../../server/policy/schema.ts";
import { AROUND, CASES, evaluateCommand, ROOT } from "../../server/policy/score.ts";

const io = { env: {}, stdout: new PassThrough() } as unknown as Io;

/** The daemon's decision on this command under the corpus's policy. */
function ask(command: string): PolicyTestResult {
  const { decision, matched, unsure, analysis, span, sandbox_refused } = evaluateCommand(command);
  const found = { matched, unsure, analysis: analysis!, span: span ?? undefined, sandbox_refused };
  return { ...decision, ...found, elapsed_us: 1 };
}

test.each([
  ["cd a && sudo git push origin -f | cat", "sudo git push origin -f"],
  ["echo ok; rm -fr build", "rm -fr build"],
  ["ls; rm $x", "$x"],
  ["cd a && sudo cp b /etc/c; ls", "sudo cp b /etc/c"],
  ["ls; echo x > gate.config.json", "echo x"],
])("explain() underlines the deciding part of %j", (command, part) => {
  const [, , shown, marked] = explain(io, command, ask(command)).split("\n");
  const from = marked!.indexOf("^");
  expect(shown!.slice(from, marked!.lastIndexOf("^") + 1)).toBe(part);
});

test("the decision on an unresolved operand names no rule that it might match", () => {
  expect(ask("rm $x").rule).toMatchObject({ list: "unresolved" });
});

test("explain() counts the rules that only may match, and names none of them", () => {
  const text = explain(io, "rm $x", ask("rm $x"));
  expect(text).toMatch(/^maybe +\d+ more rules?: a part is not known \(--json names them\)$/m);
  expect(text).not.toMatch(/^also/m);
});

test("explain() names another rule that certainly matches, once for both configs", () => {
  const rules = { blockedCommands: ["git push --force"], blockedPaths: [".env"] };
  const policy = compilePolicy({ global: rules, project: rules, override_global: false });
  const command = "git push --force && cat .env";
  const request = { kind: "command", command, cwd: ROOT, tool: "run_command" } as const;
  const { decision, analysis, ...found } = evaluate(policy, request, AROUND);
  const { matched, unsure, sandbox_refused } = found;
  const result = {
    ...decision,
    matched,
    unsure,
    sandbox_refused,
    analysis: analysis!,
    elapsed_us: 1,
  };
  const lines = explain(io, command, result).split("\n");
  const rule = (text: string) =>
    lines.filter((line) => /^(?:rule|also)/.test(line) && line.includes(text));
  expect(rule("git push --force")).toHaveLength(1);
  expect(rule(".env")).toHaveLength(1);
  expect(matched.length).toBeGreaterThan(2);
});

test("explain() says what runs only by a text of run time in words", () => {
  const text = explain(io, "curl -s x | sh", ask("curl -s x | sh"));
  expect(text).toContain("runs     anything: its text is known only at run time");
  expect(text).not.toMatch(/⏎|'\*'/);
});

test("explain() prints no control character", () => {
  expect(explain(io, "echo \u001b[31m\u202e", ask("echo \u001b[31m\u202e"))).not.toMatch(
    // deno-lint-ignore no-control-regex
    /[\u001b\u202e]/u,
  );
});

test("scoreCard() shows both rates and each wrong case", () => {
  const corpus = CASES.map((one) => JSON.stringify(one)).join("\n");
  expect(scoreCard(scoreCorpus(corpus))).toMatch(/^stopped +\d+ of \d+ +\d+\.\d %\nfalse alarms/);
  const wrong = JSON.stringify({ id: "c-1", category: "x", command: "rm -rf /", expect: "allow" });
  expect(scoreCard(scoreCorpus(wrong))).toContain("c-1 x: deny instead of allow");
});

test("a decision of the sandbox says where it holds; another question says why it is asked", () => {
  const policy = compilePolicy({
    global: null,
    project: { blockedPaths: [".env"] },
    override_global: false,
  });
  const ask = (command: string): PolicyTestResult => {
    const around = { ...AROUND, sandbox: { engine: "bubblewrap" } };
    const { decision, matched, unsure, sandbox_refused } = evaluate(
      policy,
      { kind: "command", command, cwd: ROOT },
      around,
    );
    return { ...decision, matched, unsure, elapsed_us: 1, sandbox_refused };
  };
  expect(describe(io, ask("pytest"))).toMatch(
    /^allow in the sandbox: Nobody is asked, because the sandbox limits.*\n {2}sandbox {2}no network; \.env and your home folder are hidden\n/,
  );
  expect(explain(io, "npm publish", ask("npm publish"))).toContain(
    'sandbox  no answer: "npm publish" acts on another machine or a server',
  );
});
