import { basename, resolve } from "node:path";
import type { Analysis } from "../policy/schema.ts";
import { isInside } from "./target.ts";

/** Programs that only say something: an edit may bring them in. */
const HARMLESS =
  /^(echo|printf|true|false|:|pwd|sleep|seq|date|test|\[|exit|set|cat|head|tail|wc|ls)$/;

/** What an edited command does beyond the one it replaces, in words; null where nothing. */
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
  return more === undefined ? null : `it cannot be told what "${more}" would be`;
}

function programOf(argv: string[]): string {
  return basename(argv[0] ?? "");
}
