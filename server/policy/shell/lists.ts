import { asOneWord, FIELD, isStatic, QUOTED, SPLIT } from "../holes.ts";
import type { Shell } from "./state.ts";

/**
 * The items that `${name[index]}` or `${@}` stands for, as texts with marks between words; null when
 * the name is no list.
 */
export function listOf(
  shell: Shell,
  name: string,
  index: string | undefined,
  quoted: boolean,
): string[] | null {
  if (name === "@" || name === "*") return [joined(shell.positional, name, quoted)];
  if (/^\d+$/.test(name)) return [shell.positional[Number(name) - 1] ?? ""];
  if (name === "#") return [String(shell.positional.length)];
  const items = shell.variables.get(name)?.items;
  if (index === undefined) return items ? [items[0] ?? ""] : null;
  if (!items) return index === "@" || index === "*" || index === "0" ? null : [SPLIT];
  if (index === "@" || index === "*") return [joined(items, index, quoted)];
  if (isStatic(index) && /^-?\d+$/.test(index)) return [items.at(Number(index)) ?? ""];
  return items.length > 0 ? items : [""];
}

function joined(items: readonly string[], how: string, quoted: boolean): string {
  if (how === "*" && quoted) return items.join(" ");
  return items.map((item) => quoted ? QUOTED + asOneWord(item) : item).join(FIELD);
}
