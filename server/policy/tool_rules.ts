import { GateError } from "../errors.ts";
import { byDefault, type Finding, findingOf } from "./finding.ts";
import { compileSegment, expandBraces, GLOB_LIMITS, matchSegment, type Segment } from "./glob.ts";
import type { CompiledPolicy, Decide, ToolPattern } from "./policy.ts";
import type { ToolRequest } from "./request.ts";
import type { PolicyEntry } from "./schema.ts";

type Call = Pick<ToolRequest, "tool" | "input">;

/** Evaluates a tool call: the tool rules, or else the default. */
export const decideTool: Decide<ToolRequest> = (policy, call) => {
  const found = matchTools(policy, call);
  if (found.length === 0) found.push(byDefault(policy.defaultEffect, `the tool "${call.tool}"`));
  return { findings: found };
};

/** The tool rules that match a call. */
export function matchTools(policy: CompiledPolicy, call: Call): Finding[] {
  return policy.tools.filter(({ compiled }) => matchTool(compiled, call)).map(findingOf);
}

/**
 * The tool rules that match a call of the gate's own tool, which hosts name `mcp__gate__…`. An allow
 * rule must spell that name out: `mcp__*` is meant for the tools of other servers.
 */
export function matchOwnTool(policy: CompiledPolicy, call: Call): Finding[] {
  if (policy.tools.length === 0) return [];
  const hosted = { ...call, tool: `mcp__gate__${call.tool}` };
  return policy.tools.filter(({ compiled, effect }) =>
    matchTool(compiled, call) ||
    (matchTool(compiled, hosted) && (effect !== "allow" || spellsOut(compiled, hosted.tool)))
  ).map(findingOf);
}

function spellsOut({ names }: ToolPattern, tool: string): boolean {
  return names.some((name) => !name.deep && name.literal === tool);
}

/** Whether the call has the pattern's name and arguments. */
export function matchTool(pattern: ToolPattern, call: Call): boolean {
  if (!matchesName(pattern, call.tool)) return false;
  return pattern.args.every(([name, globs]) => {
    const value = call.input[name];
    const text = typeof value === "string" ? value : JSON.stringify(value) ?? "";
    return globs.some((glob) => matchSegment(glob, text.slice(0, 4096)) === "yes");
  });
}

/** Whether the pattern matches a tool of that name, with any arguments. */
export function matchesName({ names }: ToolPattern, tool: string): boolean {
  return names.some((name) => matchSegment(name, tool) === "yes");
}

/** Compiles a tool entry. @throws GateError `invalid`, naming the pattern's fault */
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
