import { type EffectiveSandbox, mergeSandbox } from "./sandbox.ts";
import { mergeRisk, type RiskSettings } from "./risk_weights.ts";
import type { Effect, Policies, PolicyEntry, PolicyLimits, Rule } from "./schema.ts";

/** The limits if no config sets them. */
export const DEFAULT_LIMITS: PolicyLimits = {
  maxBashOutputBytes: 1_048_576,
  commandTimeoutSeconds: 600,
  approvalTimeoutSeconds: 86_400,
  maxBlobBytes: 67_108_864,
  maxHeldPerSession: 100,
  maxHeldPerProject: 2_000,
  maxHeldBytesPerSession: 67_108_864,
  maxRecordedBytesPerSession: 268_435_456,
  maxRecordedBytesPerMachine: 536_870_912,
  maxRefusedBytesPerSession: 2_097_152,
  maxRefusedBytesPerMachine: 8_388_608,
  maxDenialsPerSession: 40,
  maxDenialsPerAgent: 120,
  maxCriticalPerSession: 12,
  denialWindowSeconds: 600,
  blockSeconds: 3_600,
  maxChangedFilesPerSession: 1_000,
  maxChangedBytesPerSession: 104_857_600,
  maxDeletionsPerSession: 200,
};

/** A longer time counts more denials, and keeps a session blocked for longer. */
const LONGER_IS_STRICTER: ReadonlySet<keyof PolicyLimits> = new Set([
  "denialWindowSeconds",
  "blockSeconds",
]);

/** The strictest of some values of a limit. */
export function strictestLimit(name: keyof PolicyLimits, values: readonly number[]): number {
  return LONGER_IS_STRICTER.has(name) ? Math.max(...values) : Math.min(...values);
}

/** The lists of a policy, with the effect and the subject of their entries. */
export const LISTS = {
  allowedPaths: { effect: "allow", subject: "path" },
  askPaths: { effect: "ask", subject: "path" },
  blockedPaths: { effect: "deny", subject: "path" },
  allowedCommands: { effect: "allow", subject: "command" },
  askCommands: { effect: "ask", subject: "command" },
  blockedCommands: { effect: "deny", subject: "command" },
  allowedTools: { effect: "allow", subject: "tool" },
  askTools: { effect: "ask", subject: "tool" },
  blockedTools: { effect: "deny", subject: "tool" },
} as const satisfies Record<string, { effect: Effect; subject: "path" | "command" | "tool" }>;

type ListName = keyof typeof LISTS;
const LIST_NAMES = Object.keys(LISTS) as ListName[];

/** The layers of policy, before they are merged. */
export interface PolicyLayers {
  global: Policies | null;
  project: Policies | null;
  /** True only when a person has trusted `overrideGlobal` on this machine. */
  override_global: boolean;
  /** The rules of `project` are those of the machine outside of all projects. */
  is_machine?: boolean;
}

/** One entry with its list and its layer. */
export interface SourcedEntry {
  entry: Exclude<PolicyEntry, string>;
  list: ListName;
  source: Exclude<Rule["source"], "builtin">;
}

/** All layers as one policy: lists are united, the stricter scalar applies. */
export interface MergedPolicy {
  defaultEffect: Effect;
  limits: PolicyLimits;
  sandbox: EffectiveSandbox;
  risk: RiskSettings;
  entries: SourcedEntry[];
}

/** Merges the layers: a project only adds rules, unless a person trusted its override. */
export function mergeLayers(layers: PolicyLayers): MergedPolicy {
  const global = layers.override_global ? {} : layers.global ?? {};
  const project = layers.project ?? {};
  return {
    defaultEffect: strictest([global.defaultEffect, project.defaultEffect]) ?? "ask",
    limits: mergeLimits([global, project]),
    sandbox: mergeSandbox([global.sandbox, project.sandbox]),
    risk: mergeRisk([global.risk, project.risk]),
    entries: [...entriesOf(global, "global"), ...entriesOf(project, "project")],
  };
}

function entriesOf(policies: Policies, source: SourcedEntry["source"]): SourcedEntry[] {
  return LIST_NAMES.flatMap((list) =>
    (policies[list] ?? []).map((entry) => ({
      entry: typeof entry === "string" ? { pattern: entry } : entry,
      list,
      source,
    }))
  );
}

const STRICTNESS: Record<Effect, number> = { allow: 0, ask: 1, deny: 2 };

/** A number that grows with the strictness of an effect. */
export function strictness(effect: Effect): number {
  return STRICTNESS[effect];
}

/** The strictest of some effects; undefined when none is given. */
export function strictest(effects: (Effect | undefined)[]): Effect | undefined {
  return effects.filter((effect) => effect !== undefined)
    .sort((a, b) => STRICTNESS[b] - STRICTNESS[a])[0];
}

/** The stricter of each limit. Less output, less time and fewer bytes are the stricter values. */
function mergeLimits(layers: Policies[]): PolicyLimits {
  const names = Object.keys(DEFAULT_LIMITS) as (keyof PolicyLimits)[];
  const lowest = (name: keyof PolicyLimits) => {
    const given = layers.map((layer) => layer[name]).filter((value) => value !== undefined);
    return given.length > 0 ? strictestLimit(name, given) : DEFAULT_LIMITS[name];
  };
  return Object.fromEntries(names.map((name) => [name, lowest(name)])) as unknown as PolicyLimits;
}
