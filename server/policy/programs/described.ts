import { BUILTINS } from "../interpret/builtins.ts";
import { GRAMMARS, SHELLS } from "./grammar.ts";
import { isInterpreter } from "./languages.ts";
import { ROWS } from "./rows.ts";
import { SPECIALS } from "./specials.ts";
import { SUBWRAPPERS, WRAPPERS } from "./wrappers.ts";

const TABLES = [BUILTINS, WRAPPERS, SPECIALS];

/** Whether the tables say more about a program than that it opens no operands. */
export function isKnown(name: string): boolean {
  return [...TABLES, GRAMMARS].some((table) => Object.hasOwn(table, name)) ||
    SHELLS.has(name) || isInterpreter(name) ||
    (Object.hasOwn(ROWS, name) && !ROWS[name]!.unlisted);
}

/** Whether a record says what the program does with its words. */
export function isDescribed(name: string): boolean {
  return [...TABLES, ROWS, SUBWRAPPERS].some((table) => Object.hasOwn(table, name)) ||
    SHELLS.has(name) || isInterpreter(name);
}
