import type { Snapshot } from "./config.ts";
import { describeUnknown } from "./misspelt.ts";
import type { ConfigProblem } from "./schema.ts";

/** What stands before every reason why a config cannot be used. */
export const UNTIL_MENDED = "Everything is denied until the config is mended: ";

/** What is wrong with a config, in its parts: `…: file:line:column: cause`. */
export function toProblem(error: string): ConfigProblem {
  const text = error.startsWith(UNTIL_MENDED) ? error.slice(UNTIL_MENDED.length) : error;
  const [, path, line, column, cause] = /^(.+?):(\d+):(\d+): ([\s\S]+)$/.exec(text) ?? [];
  const next = "Mend the file and save it: the gate reads it again by itself";
  if (!path) return { path: null, line: null, column: null, cause: text, next };
  return { path, line: Number(line), column: Number(column), cause: cause!, next };
}

/** What is worth telling of a config that works. */
export function warningsOf(
  { project, global, override }: Pick<Snapshot, "project" | "global" | "override">,
  id: string,
): string[] {
  const warnings = [
    ...project.unknown.map((one) => describeUnknown(one, "gate.config.json")),
    ...global.unknown.map((one) => describeUnknown(one, "this machine's config.json")),
  ].filter((warning) => warning !== null);
  if (project.value && project.value.id === undefined) {
    warnings.push(
      `gate.config.json has no "id": this still works but is deprecated; add "id": "${id}"`,
    );
  }
  if (override === "untrusted") {
    warnings.push(
      `"overrideGlobal" is ignored until a person trusts it here: gate project trust-override ${id}`,
    );
  }
  return warnings;
}
