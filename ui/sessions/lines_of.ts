import { rowsOf } from "../diff/patch.tsx";
import type { FileDiff } from "../../server/sessions/schema.ts";

const KNOWN = new WeakMap<FileDiff, { added: number; removed: number }>();

/** The numbers of added and removed lines of a file's patch; 0 without one. */
export function linesOf(file: FileDiff): { added: number; removed: number } {
  const known = KNOWN.get(file);
  if (known) return known;
  const rows = file.patch == null ? [] : rowsOf(file.patch);
  const found = {
    added: rows.filter(({ sign }) => sign === "+").length,
    removed: rows.filter(({ sign }) => sign === "-").length,
  };
  KNOWN.set(file, found);
  return found;
}
