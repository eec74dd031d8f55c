import { BUILTINS } from "../interpret/builtins.ts";
import { GRAMMARS, SHELLS } from "./grammar.ts";
import { isInterpreter } from "./languages.ts";
import { ROWS } from "./rows.ts";
import { SPECIALS } from "./specials.ts";
import { SUBWRAPPERS, WRAPPERS } from "./wrappers.ts";

const namesOf = (...tables: Record<string, unknown>[]) => new Set(tables.flatMap(Object.keys));
const KNOWN = namesOf(BUILTINS, WRAPPERS, SPECIALS, GRAMMARS);
const DESCRIBED = namesOf(BUILTINS, WRAPPERS, SPECIALS, ROWS, SUBWRAPPERS);

/** Whether the tables say more about a program than that it opens no operands. */
export function isKnown(name: string): boolean {
  return KNOWN.has(name) || SHELLS.has(name) || isInterpreter(name) ||
    (Object.hasOwn(ROWS, name) && !ROWS[name]!.unlisted);
}

/** Whether a record says what the program does with its words. */
export function isDescribed(name: string): boolean {
  return DESCRIBED.has(name) || SHELLS.has(name) || isInterpreter(name);
}
