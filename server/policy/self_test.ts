import { GateError } from "../errors.ts";
import { comparePath, compilePath, namePath } from "./match.ts";
import { LISTS, type SourcedEntry } from "./merge.ts";
import { meter } from "./meter.ts";
import { compareUnit, compileCommand } from "./shell/rules.ts";
import { understand } from "./shell/understand.ts";
import { compileTool, matchTool } from "./tool_decision.ts";

/** Examples stand in a project of their own. */
const ROOT = "/project";
const HOME = "/home/user";

/** Checks an entry's own examples. @throws GateError `invalid`, naming the example that fails */
export function checkExamples(one: SourcedEntry): void {
  const { match = [], not_match = [], pattern } = one.entry;
  for (const example of match) {
    if (!matches(one, example)) throw failing(pattern, example, "should match and does not");
  }
  for (const example of not_match) {
    if (matches(one, example)) throw failing(pattern, example, "should not match and does");
  }
}

function failing(pattern: string, example: string, what: string): GateError {
  return new GateError("invalid", `The example "${example}" of "${pattern}" ${what}`);
}

function matches({ entry, list }: SourcedEntry, example: string): boolean {
  meter.reset();
  const { subject, effect } = LISTS[list];
  const forbids = effect !== "allow";
  if (subject === "tool") return matchTool(compileTool(entry), { tool: example, input: {} });
  if (subject === "path") {
    const names = namePath(absolute(example), [ROOT], HOME);
    return comparePath(compilePath(entry.pattern), names, forbids) === "yes";
  }
  const { units } = understand(example, { cwd: ROOT, user_home: HOME });
  const compiled = compileCommand(entry.pattern);
  return units.some((unit) => compareUnit(compiled, unit, units, forbids) === "yes");
}

function absolute(example: string): string {
  if (example.startsWith("/")) return example;
  if (example.startsWith("~/")) return HOME + example.slice(1);
  return `${ROOT}/${example}`;
}
