import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { mustRead } from "./document.ts";
import { ToolError } from "./errors.ts";
import type { Scenario } from "./schema.ts";

/** Where scenarios are taken from, in the order in which they are put together. */
export interface SourceOptions {
  scenarios: string[];
}

/** The scenarios of every source; ids stay unique. @throws ToolError */
export function loadScenarios(options: SourceOptions, cwd: string): Scenario[] {
  const files = options.scenarios.length > 0 ? options.scenarios : defaults(cwd);
  const found = files.flatMap((name) => mustRead(readText(name, cwd), name));
  const seen = new Set<string>();
  for (const { scenario_id } of found) {
    if (seen.has(scenario_id)) {
      throw new ToolError(`Cannot put the sources together: ${scenario_id} stands in two of them`);
    }
    seen.add(scenario_id);
  }
  return found;
}

/** The text of a file, relative to the working directory. @throws ToolError */
export function readText(name: string, cwd: string): string {
  try {
    return readFileSync(resolve(cwd, name), "utf8");
  } catch (cause) {
    const why = (cause as NodeJS.ErrnoException).code === "ENOENT"
      ? "there is no such file"
      : (cause as Error).message;
    throw new ToolError(`Cannot read "${name}": ${why}`, { cause });
  }
}

function defaults(cwd: string): string[] {
  return existsSync(resolve(cwd, "scenarios.json")) ? ["scenarios.json"] : [];
}
