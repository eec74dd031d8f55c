import { compilePolicy, evaluate } from "../../server/policy/evaluate.ts";
import type { Policies } from "../../server/policy/schema.ts";
import { HOSTILE_COMMANDS, HOSTILE_MEETINGS, HOSTILE_POLICY } from "../server/policy/hostile.ts";
import { compare, quantile, report } from "./figures.ts";
import { AROUND, BLOCKED_COMMANDS, CASES, ROOT } from "../server/policy/score.ts";

const BAR = {
  p50: { most: 0.1, unit: "ms" },
  p99: { most: 2, unit: "ms" },
  hostile: { most: 5, unit: "ms" },
};
const ROUNDS = 4;

/** A thousand rules of every kind, including those of the corpus. */
const THOUSAND: Policies = {
  defaultEffect: "allow",
  blockedCommands: [...BLOCKED_COMMANDS, ...of(395, (at) => `prog${at} sub --flag${at}`)],
  askCommands: of(300, (at) => `npm run task${at}`),
  blockedPaths: of(200, (at) => `**/dir${at}/*.{ts,js}`),
  askPaths: of(100, (at) => `/srv/data${at}/**`),
};

/** Times decisions with a thousand rules on everyday commands and paths, and on hostile commands. */
export function bench(): void {
  const evaluateCommand = commandEvaluator(THOUSAND);
  benchEveryday("command", CASES.map(({ command }) => () => evaluateCommand(command)));
  const path = pathEvaluator(THOUSAND);
  benchEveryday("path", of(500, (at) => () => path(`src/dir${at}/file${at}.rs`)));
  const hostile = Object.entries(HOSTILE_COMMANDS).map(([name, text]) =>
    [name, best(() => evaluateCommand(text))] as const
  );
  const meet = commandEvaluator(HOSTILE_POLICY);
  const meetings = Object.entries(HOSTILE_MEETINGS).map(([name, text]) =>
    [name, best(() => meet(text))] as const
  );
  reportHostile([...hostile, ...meetings]);
}

function of<T>(length: number, make: (at: number) => T): T[] {
  return Array.from({ length }, (_, at) => make(at));
}

function commandEvaluator(policies: Policies) {
  const policy = compilePolicy({ global: null, project: policies, override_global: false });
  return (command: string) => {
    const text = command.replaceAll("{PORT}", "47000");
    evaluate(policy, { kind: "command", command: text, cwd: ROOT }, AROUND);
  };
}

function pathEvaluator(policies: Policies) {
  const policy = compilePolicy({ global: null, project: policies, override_global: false });
  return (path: string) => {
    const facts = { lexical: `${ROOT}/${path}`, real: `${ROOT}/${path}` };
    evaluate(policy, { kind: "path", access: "write", path: facts }, AROUND);
  };
}

function benchEveryday(name: string, decisions: (() => void)[]): void {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS * 2; round++) {
    const taken = decisions.map(timeOf);
    if (round >= ROUNDS) times.push(...taken);
  }
  report(name, times);
  compare(`${name}: p50`, quantile(times, 0.5), BAR.p50);
  compare(`${name}: p99`, quantile(times, 0.99), BAR.p99);
}

/** Counts the inputs within the limit, and prints the slowest ones. */
function reportHostile(rows: (readonly [string, number])[]): void {
  const worst = rows.toSorted((a, b) => b[1] - a[1]);
  const slow = worst.filter(([, ms]) => ms >= BAR.hostile.most);
  for (const [name, ms] of worst.slice(0, Math.max(5, slow.length))) {
    compare(`hostile: ${name}`, ms, BAR.hostile);
  }
  console.log(`  ${rows.length - slow.length} of ${rows.length} hostile inputs keep the bar`);
}

/** The best of 15 times, which excludes other load. */
function best(evaluateCommand: () => void): number {
  return Math.min(...of(15, () => timeOf(evaluateCommand)));
}

function timeOf(evaluateCommand: () => void): number {
  const started = performance.now();
  evaluateCommand();
  return performance.now() - started;
}
