import { basename, resolve } from "node:path";
import type { Analysis } from "../../policy/schema.ts";
import { isInside } from "../submit/target.ts";

/** Programs without effects: an edit may add them. */
const HARMLESS =
  /^(echo|printf|true|false|:|pwd|sleep|seq|date|test|\[|exit|set|cat|head|tail|wc|ls)$/;

/** Names an effect that only the edited command has; null if there is none. */
export function widenedBy(before: Analysis, after: Analysis, cwd: string): string | null {
  const allowed = new Set(before.commands.map(programOf));
  const program = after.commands.map(programOf)
    .find((name) => !allowed.has(name) && !HARMLESS.test(name));
  if (program !== undefined) return `it runs ${program}`;
  const changed = [...before.writes, ...before.deletes];
  const touched = [...changed, ...before.reads];
  return beyond("it also deletes", before.deletes, after.deletes, cwd) ??
    beyond("it also writes", changed, after.writes, cwd) ??
    beyond("it also reads", touched, after.reads, cwd) ??
    unresolvedBeyond(before.unresolved, after.unresolved);
}

function beyond(
  what: string,
  allowed: readonly string[],
  paths: readonly string[],
  cwd: string,
): string | null {
  const folders = allowed.map((path) => resolve(cwd, path));
  const more = paths.find((path) =>
    !folders.some((folder) => isInside(resolve(cwd, path), folder))
  );
  return more === undefined ? null : `${what} "${more}"`;
}

function unresolvedBeyond(allowed: readonly string[], now: readonly string[]): string | null {
  const more = now.find((entry) => !allowed.includes(entry));
  return more === undefined ? null : `the value of "${more}" cannot be known`;
}

function programOf(argv: string[]): string {
  return basename(argv[0] ?? "");
}
