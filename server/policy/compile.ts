import { GateError } from "../errors.ts";
import { CommandIndex, compileCommand, matchUnit } from "./command_match.ts";
import type { CompiledRule } from "./finding.ts";
import { LISTS, mergeLayers, type PolicyLayers, type SourcedEntry } from "./merge.ts";
import { meter } from "./meter.ts";
import { compilePath, matchPath, namePath, PathIndex } from "./path_match.ts";
import { analyse } from "./interpret/analyse.ts";
import type { CompiledPolicy, ConfigFault, PathRule, ToolRule } from "./policy.ts";
import { unwritableBecause } from "./sandbox.ts";
import { compileTool, matchTool } from "./tool_rules.ts";

/** Merges and compiles the layers. @throws GateError `invalid`, naming the entry and its fault */
export function compilePolicy(layers: PolicyLayers): CompiledPolicy {
  const { defaultEffect, limits, sandbox, risk, entries } = mergeLayers(layers);
  const paths: PathRule[] = [];
  const commands = new CommandIndex();
  const tools: ToolRule[] = [];
  const own = layers.is_machine === true ? "machine" : "project";
  for (const one of entries) addRule(one, { paths, commands, tools, own });
  checkWritable(layers);
  const rules = entries.map(describe);
  return {
    defaultEffect,
    limits,
    sandbox,
    risk,
    rules,
    paths: new PathIndex(paths),
    commands,
    tools,
    error: null,
    fault: null,
    layers: [],
  };
}

/** No config opens a folder of settings, keys or programs. @throws GateError `invalid` */
function checkWritable({ global, project }: PolicyLayers): void {
  for (const [source, policies] of Object.entries({ global, project })) {
    for (const path of policies?.sandbox?.writable ?? []) {
      const why = unwritableBecause(path);
      if (why === null) continue;
      const message = `Cannot use sandbox.writable of the ${source} config: "${path}": ${why}`;
      throw new GateError("invalid", message);
    }
  }
}

/** The policy of an unusable config: it denies everything and gives `error` as the reason. */
export function brokenPolicy(error: string, fault: ConfigFault): CompiledPolicy {
  return {
    ...compilePolicy({ global: null, project: null, override_global: false }),
    error,
    fault,
  };
}

function addRule(
  one: SourcedEntry,
  { own, ...made }: {
    paths: PathRule[];
    commands: CommandIndex;
    tools: ToolRule[];
    own: "machine" | "project";
  },
): void {
  const owner = one.source === "project" ? own : one.source;
  const rule = toRule(one, owner);
  const { pattern } = one.entry;
  try {
    const { subject } = LISTS[one.list];
    if (subject === "path") made.paths.push({ ...rule, compiled: compilePath(pattern) });
    else if (subject === "command") {
      made.commands.add({ ...rule, compiled: compileCommand(pattern) });
    } else made.tools.push({ ...rule, compiled: compileTool(one.entry) });
    checkExamples(one);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new GateError("invalid", `Cannot use ${one.list} of the ${owner} config: ${why}`, {
      cause: error,
      fields: { list: one.list, pattern },
    });
  }
}

function toRule({ entry, list, source }: SourcedEntry, owner: string): CompiledRule {
  const { effect } = LISTS[list];
  const does = { allow: "Allowed", ask: "A person decides", deny: "Blocked" }[effect];
  return {
    rule: { pattern: entry.pattern, list, source },
    effect,
    reason: entry.reason ?? `${does} by "${entry.pattern}" in ${list} (${owner})`,
    alternative: entry.alternative ?? null,
  };
}

function describe({ entry, list, source }: SourcedEntry) {
  const { pattern, reason = null, alternative = null } = entry;
  return { pattern, list, source, reason, alternative };
}

function checkExamples(one: SourcedEntry): void {
  const { match = [], not_match = [] } = one.entry;
  for (const example of match) {
    if (!matchesExample(one, example)) throw failing(one, example, "should match but does not");
  }
  for (const example of not_match) {
    if (matchesExample(one, example)) throw failing(one, example, "should not match but does");
  }
}

function failing({ entry: { pattern } }: SourcedEntry, example: string, fault: string): GateError {
  return new GateError("invalid", `The example "${example}" of "${pattern}" ${fault}`);
}

/** The project and the home that examples are evaluated in. */
const ROOT = "/project";
const HOME = "/home/user";

function matchesExample({ entry, list }: SourcedEntry, example: string): boolean {
  meter.reset();
  const { subject, effect } = LISTS[list];
  const forbids = effect !== "allow";
  if (subject === "tool") return matchTool(compileTool(entry), { tool: example, input: {} });
  if (subject === "path") {
    const names = namePath(absolute(example), [ROOT], HOME);
    return matchPath(compilePath(entry.pattern), names, forbids) === "yes";
  }
  const { units } = analyse(example, { cwd: ROOT, user_home: HOME });
  const compiled = compileCommand(entry.pattern);
  return units.some((unit) => matchUnit(compiled, unit, units, forbids) === "yes");
}

function absolute(example: string): string {
  if (example.startsWith("/")) return example;
  return example.startsWith("~/") ? HOME + example.slice(1) : `${ROOT}/${example}`;
}
