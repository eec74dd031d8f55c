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

/** The tables that describe each program. */
const TABLES = new Map<string, Table[]>();
for (const table of DESCRIBED) {
  for (const name of Object.keys(table)) TABLES.set(name, [...TABLES.get(name) ?? [], table]);
}

/**
 * Whether the tables say what the program does with its words. A row alone says too little about a
 * program that also has a handler, so every table that describes the program must have it.
 */
export function isDescribed(name: string): boolean {
  const tables = TABLES.get(name);
  if (!tables) return isInterpreter(name);
  for (const table of tables) if (!Object.hasOwn(table, name)) return false;
  return true;
}
