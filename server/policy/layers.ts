import { DEFAULT_LIMITS, strictest, strictestLimit } from "./merge.ts";
import { PathIndex } from "./path_match.ts";
import { CommandIndex } from "./command_match.ts";
import type { CompiledPolicy, PolicyLayer } from "./policy.ts";
import { combineSandboxes } from "./sandbox.ts";
import { strictestRisk } from "./risk_weights.ts";
import type { EvaluationOptions } from "./request.ts";
import type { PolicyLimits } from "./schema.ts";

/**
 * A policy that is as strict as each of the layers. A request is evaluated under every layer, and
 * the strictest decision wins. United lists would not do: an added ask rule weakens a default that
 * denies.
 */
export function combineLayers(layers: readonly PolicyLayer[]): CompiledPolicy {
  const policies = layers.map(({ compiled }) => compiled);
  const broken = policies.find(({ error }) => error !== null);
  return {
    defaultEffect: strictest(policies.map(({ defaultEffect }) => defaultEffect)) ?? "deny",
    limits: lowest(policies.map(({ limits }) => limits)),
    sandbox: combineSandboxes(policies.map(({ sandbox }) => sandbox)),
    risk: strictestRisk(policies.map(({ risk }) => risk)),
    rules: unitedRules(policies),
    paths: new PathIndex([]),
    commands: new CommandIndex(),
    tools: policies.flatMap(({ tools }) => tools),
    error: broken?.error ?? null,
    fault: broken?.fault ?? null,
    layers,
  };
}

/** The single policies that a request must satisfy, each with its surroundings. */
export function layersOf(
  policy: CompiledPolicy,
  options: EvaluationOptions,
): { layer: PolicyLayer; options: EvaluationOptions }[] {
  if (policy.layers.length === 0) return [{ layer: { compiled: policy }, options }];
  return policy.layers.map((layer) => ({
    layer,
    options: layer.roots === undefined ? options : { ...options, roots: layer.roots },
  }));
}

function lowest(all: readonly PolicyLimits[]): PolicyLimits {
  const names = Object.keys(DEFAULT_LIMITS) as (keyof PolicyLimits)[];
  const least = (name: keyof PolicyLimits) =>
    strictestLimit(name, all.map((limits) => limits[name]));
  return Object.fromEntries(names.map((name) => [name, least(name)])) as unknown as PolicyLimits;
}

/** A rule that allows holds only if every layer has it; the others hold if any layer has them. */
function unitedRules(policies: readonly CompiledPolicy[]): CompiledPolicy["rules"] {
  const all = policies.map(({ rules }) => new Map(rules.map((rule) => [keyOf(rule), rule])));
  const united = new Map(all.flatMap((rules) => [...rules]));
  return [...united].flatMap(([key, rule]) => {
    const holds = !rule.list.startsWith("allowed") || all.every((rules) => rules.has(key));
    return holds ? [rule] : [];
  });
}

function keyOf({ pattern, list, source }: CompiledPolicy["rules"][number]): string {
  return `${source} ${list} ${pattern}`;
}
