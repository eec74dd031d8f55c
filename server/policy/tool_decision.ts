import { GateError } from "../errors.ts";
import type { CompiledPolicy } from "./compile.ts";
import { byDefault, type Finding } from "./finding.ts";
import { compileSegment, expandBraces, GLOB_LIMITS, matchSegment, type Segment } from "./glob.ts";
import type { PolicyEntry } from "./schema.ts";

/** A tool pattern: names, and globs over arguments (all of them must match). */
export interface ToolPattern {
  names: Segment[];
  args: [string, Segment[]][];
}

/** Compiles a tool entry. @throws GateError `invalid`, saying what is wrong with it */
export function compileTool(entry: Exclude<PolicyEntry, string>): ToolPattern {
  const args = Object.entries(entry.args ?? {});
  return {
    names: compileGlobs(entry.pattern),
    args: args.map(([name, glob]) => [name, compileGlobs(glob)]),
  };
}

function compileGlobs(pattern: string): Segment[] {
  if (new TextEncoder().encode(pattern).length > GLOB_LIMITS.bytes) {
    const why = `it is longer than ${GLOB_LIMITS.bytes} bytes`;
    throw new GateError("invalid", `Cannot use the pattern "${pattern}": ${why}`);
  }
  return expandBraces(pattern).map((one) => compileSegment(one.replace(/\*\*+/g, "*")));
}

/** What the tool rules say of a call; without any, the default (unless `complete` is false). */
export function judgeTool(
  policy: CompiledPolicy,
  call: { tool: string; input: Record<string, unknown> },
  complete = true,
): Finding[] {
  const found = policy.tools.filter((rule) => matchTool(rule.compiled, call))
    .map(({ effect, rule, reason, alternative }) => ({ effect, rule, reason, alternative }));
  if (found.length > 0 || !complete) return found;
  return [byDefault(policy.defaultEffect, `the tool "${call.tool}"`)];
}

/**
 * The same of one of the gate's own tools, which hosts call `mcp__gate__…`. To allow it by that name
 * the rule has to spell it out: `mcp__*` was written for what other servers offer.
 */
export function judgeOwnTool(
  policy: CompiledPolicy,
  call: { tool: string; input: Record<string, unknown> },
): Finding[] {
  const hosted = { ...call, tool: `mcp__gate__${call.tool}` };
  return policy.tools.filter(({ compiled, effect }) =>
    matchTool(compiled, call) ||
    (matchTool(compiled, hosted) && (effect !== "allow" || spellsOut(compiled, hosted.tool)))
  ).map(({ effect, rule, reason, alternative }) => ({ effect, rule, reason, alternative }));
}

function spellsOut({ names }: ToolPattern, tool: string): boolean {
  return names.some((name) => !name.deep && name.literal === tool);
}

/** Whether the pattern speaks of a tool of that name, with whatever arguments. */
export function matchesName({ names }: ToolPattern, tool: string): boolean {
  return names.some((name) => matchSegment(name, tool) === "yes");
}

/** Whether the call has the pattern's name and arguments. */
export function matchTool(
  pattern: ToolPattern,
  call: { tool: string; input: Record<string, unknown> },
): boolean {
  if (!matchesName(pattern, call.tool)) return false;
  return pattern.args.every(([name, globs]) => {
    const value = call.input[name];
    const text = typeof value === "string" ? value : JSON.stringify(value) ?? "";
    return globs.some((glob) => matchSegment(glob, text.slice(0, 4096)) === "yes");
  });
}
