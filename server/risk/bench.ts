import { Buffer } from "node:buffer";
import { z } from "zod";
import { sha256 } from "../db/chain.ts";
import { GateError } from "../errors.ts";
import { imaginedMachine, readLines } from "../policy/bench.ts";
import { compilePolicy, evaluate } from "../policy/evaluate.ts";
import { absolutePath } from "../policy/interpret/state.ts";
import { mergeRisk, type RiskSettings } from "../policy/risk_weights.ts";
import { Policies } from "../policy/schema.ts";
import { assessRisk } from "./assess.ts";
import { type FileFacts, NO_CIRCUMSTANCES, type RiskFacts } from "./facts.ts";
import { type Risk, RiskLevel } from "./schema.ts";

/** One case of a risk table: an action with the level that a person gives it. */
export const RiskCase = z.strictObject({
  id: z.string().optional(),
  class: z.string().optional(),
  why: z.string().optional(),
  command: z.string().optional(),
  tool: z.string().optional(),
  path: z.string().optional(),
  /** The new text of the file. */
  content: z.string().optional(),
  /** The old text; without it the file is new. */
  before: z.string().optional(),
  mode: z.number().int().optional(),
  input: z.record(z.string(), z.unknown()).optional(),
  /** The known facts about the session. */
  session: z.strictObject({
    secrets_read: z.string().optional(),
    first_time: z.union([z.boolean(), z.string()]).optional(),
    outside_hours: z.boolean().optional(),
    burst: z.number().int().optional(),
  }).optional(),
  level: RiskLevel,
});
export type RiskCase = z.infer<typeof RiskCase>;

/** The score card of a risk table. */
export interface RiskCard {
  cases: number;
  right: number;
  rate: number;
  /** Cases whose score is one level away. */
  near: number;
  /** Cases labelled high or critical that score low. */
  missed: number;
  classes: { class: string; cases: number; right: number }[];
  /** By the label, then by the level that gate gives. */
  levels: Record<RiskLevel, Record<RiskLevel, number>>;
  wrong: { id: string; class: string; what: string; label: RiskLevel; risk: Risk }[];
}

const ROOT = "/home/user/project";
const AROUND = imaginedMachine(ROOT);

/**
 * Scores gate's levels against the labels of a table (one JSON object a line). The policy allows
 * everything, so that only the action itself counts.
 * @throws GateError `invalid`, naming the first invalid line
 */
export function scoreRisk(jsonl: string, policies: Policies = {}): RiskCard {
  const compiled = compilePolicy({
    global: null,
    project: { defaultEffect: "allow" },
    override_global: false,
  });
  const settings = mergeRisk([policies.risk]);
  const all = readLines(jsonl, (line, number) => {
    const one = readCase(line, number);
    return { one, risk: assessRisk(factsOf(one, compiled, settings)) };
  });
  const right = all.filter(({ one, risk }) => one.level === risk.level);
  const wrong = all.filter(({ one, risk }) => one.level !== risk.level);
  return {
    cases: all.length,
    right: right.length,
    rate: all.length === 0 ? 0 : right.length / all.length,
    near: wrong.filter(({ one, risk }) => Math.abs(rankOf(one.level) - rankOf(risk.level)) === 1)
      .length,
    missed: wrong.filter(({ one, risk }) => rankOf(one.level) >= 2 && risk.level === "low").length,
    classes: byClass(all),
    levels: byLevel(all),
    wrong: wrong.map(({ one, risk }) => ({
      id: one.id ?? "",
      class: classOf(one),
      what: one.command ?? `${one.tool ?? ""} ${one.path ?? JSON.stringify(one.input ?? {})}`,
      label: one.level,
      risk,
    })),
  };
}

type Scored = { one: RiskCase; risk: Risk };

function rankOf(level: RiskLevel): number {
  return RiskLevel.options.indexOf(level);
}

function classOf(one: RiskCase): string {
  return one.class ?? "uncategorised";
}

function byClass(all: readonly Scored[]): RiskCard["classes"] {
  const names = [...new Set(all.map(({ one }) => classOf(one)))].sort();
  return names.map((name) => {
    const those = all.filter(({ one }) => classOf(one) === name);
    const right = those.filter(({ one, risk }) => one.level === risk.level).length;
    return { class: name, cases: those.length, right };
  });
}

function byLevel(all: readonly Scored[]): RiskCard["levels"] {
  const none = () => ({ low: 0, medium: 0, high: 0, critical: 0 });
  const levels = { low: none(), medium: none(), high: none(), critical: none() };
  for (const { one, risk } of all) levels[one.level][risk.level]++;
  return levels;
}

function readCase(line: string, number: number): RiskCase {
  try {
    const one = RiskCase.parse(JSON.parse(line));
    if (one.command === undefined && one.tool === undefined && one.path === undefined) {
      throw new Error("no action");
    }
    return { ...one, id: one.id ?? `line ${number}` };
  } catch (cause) {
    const why = cause instanceof SyntaxError
      ? "it is not JSON"
      : 'it needs "command", or "tool" with "path" or "input", and "level": "low", "medium", ' +
        '"high" or "critical"';
    throw new GateError("invalid", `Cannot read line ${number} of the table: ${why}`, { cause });
  }
}

function factsOf(
  one: RiskCase,
  compiled: ReturnType<typeof compilePolicy>,
  settings: RiskSettings,
): RiskFacts {
  const { tool = one.command === undefined ? "write_file" : "run_command" } = one;
  const found = one.command === undefined ? null : evaluate(
    compiled,
    { kind: "command", command: one.command, cwd: ROOT },
    AROUND,
  );
  const path = one.path === undefined ? null : absolutePath(one.path, ROOT);
  const place = path === null ? null : { path, shown: one.path! };
  const access = tool === "read_file" ? "read" : tool === "delete_file" ? "delete" : "write";
  const ruling = found?.decision ?? (path === null ? null : evaluate(
    compiled,
    { kind: "path", access, path: { lexical: path, real: path }, tool },
    AROUND,
  ).decision);
  const { session = {} } = one;
  return {
    tool,
    input: one.input ?? {},
    is_foreign: one.command === undefined && path === null,
    accesses: place === null ? [] : [{ access, ...place }],
    changes: place === null || access === "read" ? [] : [{
      ...place,
      before: stateOf(one.before, one.mode),
      after: access === "delete" ? null : stateOf(one.content ?? "", one.mode),
      new_text: access === "delete" ? null : one.content ?? "",
      oldText: () => one.before ?? null,
    }],
    command: one.command ?? null,
    cwd: one.command === undefined ? null : ROOT,
    root: ROOT,
    user_home: AROUND.user_home,
    analysis: found?.analysis ?? null,
    decision: ruling ?? { effect: "allow", rule: null, reason: "" },
    irreversible: null,
    circumstances: {
      ...NO_CIRCUMSTANCES,
      secret_read: session.secrets_read ?? null,
      first_time: session.first_time ? String(session.first_time) : null,
      outside_hours: session.outside_hours ?? false,
      burst: session.burst ?? null,
    },
    settings,
  };
}

function stateOf(text: string | undefined, mode = 0o644): FileFacts | null {
  if (text === undefined) return null;
  return { sha256: sha256(text), bytes: Buffer.byteLength(text), mode };
}
