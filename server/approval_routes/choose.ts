import { GateError } from "../errors.ts";
import { type CompiledPolicy, compilePolicy } from "../policy/evaluate.ts";
import type { Rule } from "../policy/schema.ts";
import { compileTool, matchesName } from "../policy/tool_rules.ts";
import { type ApprovalRoute, RiskLevel } from "./schema.ts";

/** The facts about an action that are not in its path, command or tool. */
export interface RouteFacts {
  agent: string | null;
  host: string | null;
  project_id: string;
  risk: RiskLevel;
}

/** Why a route matches an action or does not. */
export interface Considered {
  route: ApprovalRoute;
  matches: boolean;
  why: string;
}

const SUBJECTS = { paths: "askPaths", commands: "askCommands", tools: "askTools" } as const;
const WORDS = { paths: "the path", commands: "the command", tools: "the tool" } as const;
const SUBJECT_NAMES = Object.keys(SUBJECTS) as (keyof typeof SUBJECTS)[];

/**
 * A policy with the patterns of all routes: its rules that match an action say which routes do.
 * @throws GateError `invalid` for a pattern that the policy cannot use
 */
export function compilePatterns(routes: readonly ApprovalRoute[]): CompiledPolicy {
  const lists = SUBJECT_NAMES.map((subject) => {
    const all = routes.flatMap(({ match }) => match[subject]);
    return [SUBJECTS[subject], [...new Set(all)].map((pattern) => ({ pattern }))];
  });
  const project = { defaultEffect: "allow", ...Object.fromEntries(lists) };
  return compilePolicy({ global: null, project, override_global: false });
}

/** Rejects a pattern that matches nothing because it is malformed. @throws GateError `invalid` */
export function checkPatterns(route: ApprovalRoute, verb: string): void {
  const { agents, hosts, projects } = route.match;
  try {
    compilePatterns([route]);
    for (const pattern of [...agents, ...hosts, ...projects]) compileTool({ pattern });
  } catch (error) {
    if (!(error instanceof GateError)) throw error;
    const { cause } = error;
    const found = cause instanceof Error ? cause.message : error.message;
    const why = found.replace(/^Cannot use the (pattern "[^]*"): /, "the $1 cannot be used: ");
    throw new GateError("invalid", `Cannot ${verb}: ${why}`, { next: "correct the pattern" });
  }
}

/** Each route, and whether it matches. `matched` are the rules of `compilePatterns` that did. */
export function consider(
  routes: readonly ApprovalRoute[],
  matched: readonly Rule[],
  facts: RouteFacts,
): Considered[] {
  const rules = new Set(matched.map(({ list, pattern }) => `${list} ${pattern}`));
  // A request that cannot be evaluated is denied by a builtin rule: then every pattern may match.
  const isUnknown = matched.some(({ list, source }) =>
    list === "evaluation" && source === "builtin"
  );
  return routes.map((route) => ({ route, ...considerOne(route, { rules, isUnknown, facts }) }));
}

/** The route that an action takes: of those that match, the one that asks most people. */
export function chooseRoute(considered: readonly Considered[]): Considered | null {
  const matching = considered.filter(({ matches }) => matches);
  return matching.reduce<Considered | null>(
    (best, one) => best !== null && best.route.quorum >= one.route.quorum ? best : one,
    null,
  );
}

function considerOne(
  { match }: ApprovalRoute,
  { rules, isUnknown, facts }: {
    rules: ReadonlySet<string>;
    isUnknown: boolean;
    facts: RouteFacts;
  },
): { matches: boolean; why: string } {
  const no = (why: string) => ({ matches: false, why });
  const { agent, host, project_id, risk } = facts;
  const found: string[] = [];
  const named = [
    ["agent", agent, match.agents],
    ["host", host, match.hosts],
    ["project", project_id, match.projects],
  ] as const;
  for (const [word, value, patterns] of named) {
    if (patterns.length === 0) continue;
    const pattern = patterns.find((one) => value !== null && matchesGlob(one, value));
    if (pattern === undefined) return no(`the ${word} matches none of its patterns`);
    found.push(`the ${word} matches "${pattern}"`);
  }
  if (match.min_risk !== null) {
    const levels = RiskLevel.options;
    if (levels.indexOf(risk) < levels.indexOf(match.min_risk)) {
      return no(`the risk is ${risk}, below ${match.min_risk}`);
    }
    found.push(`the risk is ${risk}`);
  }
  if (SUBJECT_NAMES.every((subject) => match[subject].length === 0)) {
    return { matches: true, why: found.join(", ") || "it matches every held action" };
  }
  for (const subject of SUBJECT_NAMES) {
    const pattern = match[subject].find((one) => rules.has(`${SUBJECTS[subject]} ${one}`));
    if (pattern === undefined) continue;
    const why = [`${WORDS[subject]} matches "${pattern}"`, ...found].join(", ");
    return { matches: true, why };
  }
  if (isUnknown) return { matches: true, why: "its patterns cannot be compared with the action" };
  return no("no path, command or tool pattern matches");
}

function matchesGlob(pattern: string, value: string): boolean {
  return matchesName(compileTool({ pattern }), value);
}
