import { BUILTINS } from "../interpret/builtins.ts";
import { GRAMMARS } from "./grammar.ts";
import { isInterpreter } from "./languages.ts";
import { ROWS } from "./rows.ts";
import { SPECIALS } from "./specials.ts";
import { SUBWRAPPERS, WRAPPERS } from "./wrappers.ts";

type Table = Record<string, unknown>;
// The tables, not a copy of their names: the tests take records out.
const KNOWN: readonly Table[] = [BUILTINS, WRAPPERS, SPECIALS, GRAMMARS];
const DESCRIBED: readonly Table[] = [ROWS, BUILTINS, WRAPPERS, SPECIALS, SUBWRAPPERS];
const isIn = (tables: readonly Table[], name: string) =>
  tables.some((table) => Object.hasOwn(table, name));

/** Whether the tables say more about a program than that it opens no operands. */
export function isKnown(name: string): boolean {
  return isIn(KNOWN, name) || isInterpreter(name) ||
    (Object.hasOwn(ROWS, name) && !ROWS[name]!.unlisted);
}

/** How many tables describe each program. */
const COUNTS = new Map<string, number>();
for (const name of DESCRIBED.flatMap((table) => Object.keys(table))) {
  COUNTS.set(name, (COUNTS.get(name) ?? 0) + 1);
}

/**
 * Whether the tables say what the program does with its words. A row alone says too little about a
 * program that also has a handler, so every table that describes the program must have it.
 */
export function isDescribed(name: string): boolean {
  const count = COUNTS.get(name) ?? 0;
  if (count === 0) return isInterpreter(name);
  let found = 0;
  for (const table of DESCRIBED) if (Object.hasOwn(table, name)) found++;
  return found === count;
}
