import type { FileDiff } from "../../server/sessions/schema.ts";

const KNOWN = new WeakMap<FileDiff, { added: number; removed: number }>();

/** The numbers of added and removed lines of a file's patch; 0 without one. */
export function linesOf(file: FileDiff): { added: number; removed: number } {
  const known = KNOWN.get(file);
  if (known) return known;
  const lines = file.patch?.split("\n") ?? [];
  const found = {
    added: lines.filter((line) => /^\+(?!\+\+ )/.test(line)).length,
    removed: lines.filter((line) => /^-(?!-- )/.test(line)).length,
  };
  KNOWN.set(file, found);
  return found;
}
