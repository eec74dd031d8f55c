import { z } from "zod";
import { GateError } from "../errors.ts";
import { compilePolicy, evaluate, type Surroundings } from "./evaluate.ts";
import { type Effect, Policies } from "./schema.ts";
import { policyTemplate, type TemplateName } from "./templates.ts";
import { absolutePath } from "./interpret/state.ts";

/** One case of a command corpus: a command with the expected decision. */
export const BenchCase = z.object({
  id: z.string().optional(),
  category: z.string().optional(),
  command: z.string(),
  expect: z.enum(["stop", "allow", "any"]),
  /** The name of the policy that evaluates the command. */
  policy: z.string().optional(),
});
export type BenchCase = z.infer<typeof BenchCase>;

/** The score of one category. */
export interface Score {
  category: string;
  cases: number;
  right: number;
}

/** How many commands of a corpus a policy holds for a person or denies. */
export interface Questions {
  policy: string;
  commands: number;
  asked: number;
  denied: number;
  /** Questions to a person for every hundred commands. */
  per_hundred: number;
  /** The same on a machine that can sandbox commands. */
  sandbox: { asked: number; per_hundred: number };
}

/** The score card of a corpus. */
export interface ScoreCard {
  stop: { cases: number; stopped: number; rate: number };
  allow: { cases: number; false_alarms: number; rate: number };
  /** One row for each policy that evaluated commands, whatever decision they expect. */
  questions: Questions[];
  categories: Score[];
  wrong: { id: string; category: string; command: string; expect: string; effect: Effect }[];
}

/** The policies that a corpus is scored with. */
export interface BenchOptions {
  /** Evaluates every command, also those that name a policy. */
  template?: TemplateName;
  /** More policies that the lines of the corpus may name. */
  policies?: Record<string, Policies>;
}

/** Evaluates the commands that name no policy. */
const OWN_POLICY: Policies = {
  defaultEffect: "allow",
  blockedCommands: [
    "rm -rf",
    "git reset --hard",
    "git clean -f",
    "git push --force",
    "git push -f",
  ],
};
const OWN_NAME = "corpus";
const TEMPLATES = ["strict", "balanced", "permissive"] as const;
/** The default category of a case. */
const UNNAMED = { category: "uncategorised" };
const ROOT = "/home/dev/project";
const ENGINE = { engine: "bubblewrap" };
const AROUND = imaginedMachine(ROOT);

/** A machine without a disk, with one project: each path is its own real path. */
export function imaginedMachine(root: string): Surroundings {
  return {
    roots: [root],
    user_home: "/home/user",
    gate_home: "/home/user/.gate",
    port: 47000,
    resolve: (path) => {
      const folded = absolutePath(path, root);
      return { lexical: folded, real: folded };
    },
  };
}

/** Reads each line of a table that is not blank; lines count from one. */
export function readLines<Read>(
  jsonl: string,
  read: (line: string, number: number) => Read,
): Read[] {
  return jsonl.split("\n").flatMap((line, at) => line.trim() === "" ? [] : [read(line, at + 1)]);
}

/**
 * Scores the decisions on every case of a corpus (one JSON object a line).
 * @throws GateError `invalid`, naming the first invalid line
 */
export function scoreCorpus(jsonl: string, options: BenchOptions = {}): ScoreCard {
  const policyOf = policyFinder(options);
  const all = readLines(jsonl, (line, number) => {
    const one = readCase(line, number);
    const { compiled, name } = policyOf(one.policy, number);
    const command = fillPlaceholders(one.command);
    const request = { kind: "command" as const, command, cwd: ROOT };
    const { effect } = evaluate(compiled, request, AROUND).decision;
    const { decision } = evaluate(compiled, request, { ...AROUND, sandbox: ENGINE });
    const right = isRight(one.expect, effect);
    return { one, name, effect, sandboxed: decision.effect, right };
  });
  const decided = all.filter(({ one }) => one.expect !== "any");
  const [stop, allow] = (["stop", "allow"] as const).map((expect) => {
    const those = decided.filter(({ one }) => one.expect === expect);
    return { cases: those.length, right: those.filter(({ right }) => right).length };
  });
  return {
    stop: { cases: stop!.cases, stopped: stop!.right, rate: share(stop!.right, stop!.cases) },
    allow: {
      cases: allow!.cases,
      false_alarms: allow!.cases - allow!.right,
      rate: share(allow!.cases - allow!.right, allow!.cases),
    },
    questions: countQuestions(all),
    categories: byCategory(decided),
    wrong: decided.filter(({ right }) => !right).map(({ one, effect }) => {
      const { id, category, command, expect } = one;
      return { id, category, command, expect, effect };
    }),
  };
}

/**
 * Reads policies by name from the text of a JSON object.
 * @throws GateError `invalid`, naming the policy that cannot be used
 */
export function readPolicies(text: string): Record<string, Policies> {
  try {
    return z.record(z.string(), Policies).parse(JSON.parse(text));
  } catch (cause) {
    const name = cause instanceof z.ZodError ? cause.issues[0]?.path[0] : undefined;
    const why = cause instanceof SyntaxError
      ? "the file is not JSON"
      : name === undefined
      ? "the file needs one JSON object of policies by name"
      : `${JSON.stringify(String(name))} is no policy`;
    throw new GateError("invalid", `Cannot read the policies: ${why}`, { cause });
  }
}

/** Finds the policy of a line by its name, and compiles each policy once. */
function policyFinder({ template, policies = {} }: BenchOptions) {
  const compiled = new Map<string, ReturnType<typeof compilePolicy>>();
  const compile = (project: Policies) =>
    compilePolicy({ global: null, project, override_global: false });
  const find = (name: string): Policies | undefined => {
    if (Object.hasOwn(policies, name)) return policies[name];
    if (name === OWN_NAME) return OWN_POLICY;
    return TEMPLATES.some((one) => one === name) ? policyTemplate(name as TemplateName) : undefined;
  };
  return (named: string | undefined, number: number) => {
    const name = template ?? named ?? OWN_NAME;
    const known = compiled.get(name);
    if (known) return { name, compiled: known };
    const found = find(name);
    if (found === undefined) {
      throw new GateError(
        "invalid",
        `Cannot read line ${number} of the corpus: no policy is named ${JSON.stringify(name)}; ` +
          "give a file of policies by name",
      );
    }
    const made = compile(found);
    compiled.set(name, made);
    return { name, compiled: made };
  };
}

function fillPlaceholders(command: string): string {
  return command.replaceAll("{PORT}", String(AROUND.port)).replaceAll("{ROOT}", ROOT)
    .replaceAll("{HOME}", AROUND.user_home);
}

function countQuestions(
  decided: { name: string; effect: Effect; sandboxed: Effect }[],
): Questions[] {
  const names = [...new Set(decided.map(({ name }) => name))];
  return names.map((policy) => {
    const those = decided.filter(({ name }) => name === policy);
    const count = (is: (one: typeof those[number]) => boolean) => those.filter(is).length;
    const asked = count(({ effect }) => effect === "ask");
    const denied = count(({ effect }) => effect === "deny");
    const left = count(({ sandboxed }) => sandboxed === "ask");
    const perHundred = (number: number) => 100 * share(number, those.length);
    return {
      ...{ policy, commands: those.length, asked, denied, per_hundred: perHundred(asked) },
      sandbox: { asked: left, per_hundred: perHundred(left) },
    };
  });
}

function readCase(line: string, number: number) {
  try {
    return { ...UNNAMED, id: `line ${number}`, ...BenchCase.parse(JSON.parse(line)) };
  } catch (cause) {
    const why = cause instanceof SyntaxError
      ? "it is not JSON"
      : 'it needs "command", and "expect": "stop", "allow" or "any"';
    throw new GateError("invalid", `Cannot read line ${number} of the corpus: ${why}`, { cause });
  }
}

function isRight(expect: BenchCase["expect"], effect: Effect): boolean {
  return (expect === "allow") === (effect === "allow");
}

function byCategory(decided: { one: { category: string }; right: boolean }[]): Score[] {
  const scores = new Map<string, Score>();
  for (const { one: { category }, right } of decided) {
    const score = scores.get(category) ?? { category, cases: 0, right: 0 };
    scores.set(category, { category, cases: score.cases + 1, right: score.right + Number(right) });
  }
  return [...scores.values()].sort((a, b) => a.category < b.category ? -1 : 1);
}

function share(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}
