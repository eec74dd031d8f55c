import { basename, resolve } from "node:path";
import type { Analysis, Decision } from "../../policy/schema.ts";
import type { Plan, PlannedChange } from "../plan.ts";
import type { Reversibility, Risk } from "../schema.ts";
import { toolOf } from "../tools.ts";
import { isInside } from "./target.ts";

type Factor = Risk["factors"][number];

/** Everything that the risk of an action depends on. */
export interface RiskFacts {
  plan: Plan;
  decision: Decision;
  analysis: Analysis | null;
  root: string;
  irreversible: string | null;
  reversibility: Reversibility | null;
}

/** The risk of an action. Equal facts give equal scores, and each part of the sum is explained. */
export function assessRisk(facts: RiskFacts): Risk {
  const factors = [
    ...ruleFactors(facts),
    ...facts.plan.changes.flatMap((change) => changeFactors(change, facts.root)),
    ...(facts.analysis ? commandFactors(facts.analysis, facts) : []),
    ...irreversibleFactors(facts),
  ];
  const score = Math.min(100, factors.reduce((sum, { weight }) => sum + weight, 0));
  return { score, level: levelOf(score), factors: factors.slice(0, 50) };
}

function levelOf(score: number): Risk["level"] {
  if (score >= 75) return "critical";
  if (score >= 50) return "high";
  return score >= 25 ? "medium" : "low";
}

function ruleFactors({ decision: { effect, rule, reason } }: RiskFacts): Factor[] {
  if (effect === "deny") return [factor("blocked", 50, reason)];
  if (effect === "ask" && rule?.source === "builtin") return [factor("guarded", 30, reason)];
  return effect === "ask" && rule ? [factor("held_by_rule", 10, reason)] : [];
}

function changeFactors({ path, shown, before, after }: PlannedChange, root: string): Factor[] {
  const factors: Factor[] = [];
  if (!isInside(path, root)) factors.push(factor("outside", 40, `"${shown}" is outside the root`));
  if (!after) return [...factors, factor("deletes", 25, `deletes "${shown}"`)];
  if (!before) return [...factors, factor("creates", 2, `creates "${shown}"`)];
  factors.push(factor("overwrites", 10, `replaces the content of "${shown}"`));
  if (after.bytes * 2 < before.bytes) {
    factors.push(factor("shrinks", 15, `"${shown}" loses more than half of its bytes`));
  }
  if (before.mode & 0o111) factors.push(factor("executable", 10, `"${shown}" is executable`));
  return factors;
}

const NETWORK = /^(curl|wget|nc|ncat|netcat|socat|ssh|scp|sftp|rsync|ftp|telnet)$/;
const PRIVILEGE = /^(sudo|doas|su|pkexec|chown|chmod|mount|systemctl|launchctl)$/;
const INSTALL = /^(npm|pnpm|yarn|bun|pip\d?|pipx|gem|cargo|go|apt|apt-get|brew|dnf|yum|apk)$/;
const PUBLISH = /^(git|gh|npm|pnpm|yarn|cargo|docker|kubectl|terraform|aws|gcloud|az)$/;
const PUBLISHING = /^(push|publish|apply|destroy|delete|deploy|release)$/;
const RUNS_TEXT = /^((ba|da|z|k)?sh|eval|python[\d.]*|node|perl|ruby)$/;

function commandFactors(analysis: Analysis, { root, plan }: RiskFacts): Factor[] {
  const isOutside = (path: string) => !isInside(resolve(plan.cwd ?? root, path), root);
  const factors: Factor[] = [];
  const deletes = analysis.deletes.length;
  if (deletes > 0) factors.push(factor("deletes", 25, `deletes ${listed(analysis.deletes)}`));
  const outside = [...analysis.writes, ...analysis.deletes].filter(isOutside);
  if (outside.length > 0) factors.push(factor("outside", 40, `changes ${listed(outside)}`));
  const writes = analysis.writes.length;
  if (writes > 0) factors.push(factor("writes", 10, `writes ${listed(analysis.writes)}`));
  if (analysis.unresolved.length > 0) {
    factors.push(factor("unresolved", 20, `cannot be known: ${listed(analysis.unresolved)}`));
  }
  return [...factors, ...programFactors(analysis.commands)];
}

function programFactors(commands: string[][]): Factor[] {
  const rows: [string, number, string, (argv: string[]) => boolean][] = [
    [
      "privilege",
      25,
      "changes permissions or acts as another user",
      (argv) => runs(argv, PRIVILEGE),
    ],
    ["network", 15, "uses the network", (argv) => runs(argv, NETWORK)],
    [
      "publishes",
      20,
      "changes something beyond this machine",
      (argv) => runs(argv, PUBLISH) && argv.some((word) => PUBLISHING.test(word)),
    ],
    ["installs", 10, "may download and run code", (argv) => runs(argv, INSTALL)],
    ["interpreter", 10, "runs code that is not analysed", (argv) => runs(argv, RUNS_TEXT)],
  ];
  return rows.flatMap(([name, weight, why, applies]) => {
    const found = commands.find(applies);
    return found ? [factor(name, weight, `${basename(found[0]!)} ${why}`)] : [];
  });
}

function irreversibleFactors(
  { plan, irreversible, analysis, reversibility }: RiskFacts,
): Factor[] {
  if (irreversible !== null) return [factor("not_reversible", 20, irreversible)];
  if (toolOf(plan.tool).restores !== "effects") return [];
  const harmless = analysis !== null && analysis.unresolved.length === 0 &&
    analysis.writes.length === 0 && analysis.deletes.length === 0;
  if (reversibility?.level === "reversible") return [];
  const why = reversibility?.level === "partly"
    ? "only a part of its effects can be rolled back"
    : "its effects cannot be rolled back";
  return [factor("not_reversible", harmless ? 3 : 10, why)];
}

function runs(argv: string[], programs: RegExp): boolean {
  return programs.test(basename(argv[0] ?? ""));
}

function listed(paths: readonly string[]): string {
  const shown = paths.slice(0, 3).map((path) => `"${path}"`).join(", ");
  return paths.length > 3 ? `${shown} and ${paths.length - 3} more` : shown;
}

function factor(name: string, weight: number, why: string): Factor {
  return { name, weight, why };
}
