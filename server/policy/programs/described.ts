import { BUILTINS } from "../interpret/builtins.ts";
import { GRAMMARS, SHELLS } from "./grammar.ts";
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
  return isIn(KNOWN, name) || SHELLS.has(name) || isInterpreter(name) ||
    (Object.hasOwn(ROWS, name) && !ROWS[name]!.unlisted);
}

/** Whether a record says what the program does with its words. */
export function isDescribed(name: string): boolean {
  return isIn(DESCRIBED, name) || SHELLS.has(name) || isInterpreter(name);
}
