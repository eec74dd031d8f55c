import { z } from "zod";
import { GateError } from "../errors.ts";
import { compilePolicy, evaluate, type Surroundings } from "./evaluate.ts";
import type { Effect, Policies } from "./schema.ts";
import { absolutePath } from "./interpret/state.ts";

/** One case of a command corpus: a command with the expected decision. */
export const BenchCase = z.object({
  id: z.string().optional(),
  category: z.string().optional(),
  command: z.string(),
  expect: z.enum(["stop", "allow", "any"]),
});
export type BenchCase = z.infer<typeof BenchCase>;

/** The score of one category. */
export interface Score {
  category: string;
  cases: number;
  right: number;
}

/** The score card of a corpus. */
export interface ScoreCard {
  stop: { cases: number; stopped: number; rate: number };
  allow: { cases: number; false_alarms: number; rate: number };
  categories: Score[];
  wrong: { id: string; category: string; command: string; expect: string; effect: Effect }[];
}

/** The policy that the corpus expects. */
const POLICY: Policies = {
  defaultEffect: "allow",
  blockedCommands: [
    "rm -rf",
    "git reset --hard",
    "git clean -f",
    "git push --force",
    "git push -f",
  ],
};
/** The default category of a case. */
const UNNAMED = { category: "uncategorised" };
const ROOT = "/home/dev/project";
const AROUND: Surroundings = {
  roots: [ROOT],
  user_home: "/home/user",
  gate_home: "/home/user/.gate",
  port: 47000,
  resolve: (path) => {
    const folded = absolutePath(path, ROOT);
    return { lexical: folded, real: folded };
  },
};

/**
 * Scores the decisions on every case of a corpus (one JSON object a line).
 * @throws GateError `invalid`, naming the first invalid line
 */
export function scoreCorpus(jsonl: string, policies: Policies = POLICY): ScoreCard {
  const cases = jsonl.split("\n").flatMap((line, at) => line.trim() ? [readCase(line, at + 1)] : [])
    .filter(({ expect }) => expect !== "any");
  const policy = compilePolicy({ global: null, project: policies, override_global: false });
  const decided = cases.map((one) => {
    const command = one.command.replaceAll("{PORT}", String(AROUND.port));
    const { decision } = evaluate(policy, { kind: "command", command, cwd: ROOT }, AROUND);
    return { one, effect: decision.effect, right: isRight(one.expect, decision.effect) };
  });
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
    categories: byCategory(decided),
    wrong: decided.filter(({ right }) => !right).map(({ one, effect }) => {
      const { id, category, command, expect } = one;
      return { id, category, command, expect, effect };
    }),
  };
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
