import { GateError } from "../errors.ts";
import { compilePath } from "./match.ts";
import { LISTS, mergeLayers, type PolicyLayers, type SourcedEntry } from "./merge.ts";
import type { PathRule, PathRules } from "./path_decision.ts";
import { PathIndex } from "./path_index.ts";
import type { CompiledRule } from "./rule.ts";
import type { Effect, PolicyLimits, Rule } from "./schema.ts";
import { checkExamples } from "./self_test.ts";
import { CommandIndex } from "./command_index.ts";
import { compileCommand } from "./shell/rules.ts";
import { compileTool, type ToolPattern } from "./tool_decision.ts";

/** A tool rule, compiled. */
export interface ToolRule extends CompiledRule {
  compiled: ToolPattern;
}

/** A policy ready to be asked. */
export interface CompiledPolicy {
  readonly defaultEffect: Effect;
  readonly limits: PolicyLimits;
  readonly rules: readonly (Rule & { reason: string | null; alternative: string | null })[];
  readonly paths: PathRules;
  readonly commands: CommandIndex;
  readonly tools: readonly ToolRule[];
  /** Why everything is denied: the config cannot be used. */
  readonly error: string | null;
}

/** Merges and compiles the layers. @throws GateError `invalid`, naming the entry that is wrong */
export function compilePolicyRules(layers: PolicyLayers): CompiledPolicy {
  const { defaultEffect, limits, entries } = mergeLayers(layers);
  const made = {
    defaultEffect,
    limits,
    rules: entries.map(describe),
    paths: [] as PathRule[],
    commands: new CommandIndex(),
    tools: [] as ToolRule[],
    error: null,
  };
  for (const one of entries) add(made, one);
  return { ...made, paths: new PathIndex(made.paths) };
}

/** The policy of a config that cannot be used: it denies everything and says why. */
export function brokenPolicy(error: string): CompiledPolicy {
  return { ...compilePolicyRules({ global: null, project: null, override_global: false }), error };
}

type Made = { paths: PathRule[]; commands: CommandIndex; tools: ToolRule[] };

function add(made: Made, one: SourcedEntry): void {
  const rule = toRule(one);
  try {
    const { subject } = LISTS[one.list];
    if (subject === "path") {
      made.paths.push({ ...rule, compiled: compilePath(one.entry.pattern) });
    } else if (subject === "command") {
      made.commands.add({ ...rule, compiled: compileCommand(one.entry.pattern) });
    } else made.tools.push({ ...rule, compiled: compileTool(one.entry) });
    checkExamples(one);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new GateError("invalid", `${one.list} of the ${one.source} config: ${why}`, {
      cause: error,
      fields: { list: one.list, pattern: one.entry.pattern },
    });
  }
}

function toRule({ entry, list, source }: SourcedEntry): CompiledRule {
  const { effect } = LISTS[list];
  const said = { allow: "Allowed", ask: "A person decides", deny: "Blocked" }[effect];
  return {
    rule: { pattern: entry.pattern, list, source },
    effect,
    reason: entry.reason ?? `${said} by "${entry.pattern}" in ${list} (${source})`,
    alternative: entry.alternative ?? null,
  };
}

function describe({ entry, list, source }: SourcedEntry) {
  const { pattern, reason = null, alternative = null } = entry;
  return { pattern, list, source, reason, alternative };
}
