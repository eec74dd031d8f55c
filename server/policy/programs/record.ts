import { type Kind, type Spec, spec } from "./options.ts";
import type { Reach } from "./recursion.ts";

/** How a program uses its operands. */
export type Operands =
  | "none"
  | "reads"
  | "writes"
  | "deletes"
  | "copy"
  | "move"
  | "link"
  /** The first operand is a pattern (or mode); the program reads (or writes) the others. */
  | "pattern"
  | "mode"
  /** It reads folders; without one, the current folder. */
  | "folders";

/**
 * The words of a program may be more than its record says: names of files and code of its
 * own, names of files only (`data`), or neither (`text`).
 */
export type Words = "code" | "data" | "text";

/** The record of one program: its options with their kinds, and what it does with its operands. */
export interface Row {
  grammar: Spec;
  operands: Operands;
  /** By default, a program that uses its operands as files runs none of its words. */
  words: Words;
  /** Options whose value is a file to read. */
  reads: string[];
  /** Options whose value is a list of files to read; without a value, its input is the list. */
  lists: string[];
  /** Options with which its operands are lists of files to read. */
  listsWith: string[];
  /** Options whose value is a file to write. */
  writes: string[];
  /** Options whose value is shell code. */
  code: string[];
  /** Options without a value with which it writes this place of the machine. */
  elsewhere: readonly (readonly [option: string, place: string])[];
  /** Options that make a `pattern` program write its operands. */
  onlyWith: string[];
  /** The files then contain its input. */
  keeps: boolean;
  /** It builds its output from local sources, so the output is not unknown code. */
  builds: boolean;
  /** Options with which it only reads the files in `writes`, and the operands that it would write. */
  looks: string[];
  /** The files below its operands that it reads. */
  below: Reach | null;
  /** It reads what is below the current folder as well. */
  here: boolean;
  /** The facts about its operands that it shows, if not their content. */
  reveals: "names" | "sizes" | null;
  /** It runs code of the project: an allow rule covers a task of it only as it is written. */
  tasks: boolean;
  /** Its lists hold its own arguments, not only names. */
  lists_arguments: boolean;
  /** It expands `{a,b}` and `[a-z]` in its words itself. */
  globs: boolean;
  /** Its options are not listed, and an allow rule covers them all. */
  unlisted: boolean;
}

/**
 * The record of a program: the use of its operands, its options as in `spec`, the differences. An
 * option that is not listed makes the call unproved.
 */
export function row(
  operands: Operands,
  options = "",
  { single = false, ...how }: Partial<Row> & { single?: boolean } = {},
): Row {
  const grammar = spec(options, { single });
  return {
    words: operands === "none" ? "code" : "data",
    reads: namesOf(grammar, "reads", "lists"),
    lists: namesOf(grammar, "lists"),
    writes: namesOf(grammar, "writes"),
    code: namesOf(grammar, "runs"),
    listsWith: [],
    elsewhere: [],
    onlyWith: [],
    looks: [],
    keeps: false,
    builds: false,
    below: null,
    here: false,
    reveals: null,
    tasks: false,
    globs: false,
    lists_arguments: false,
    unlisted: false,
    ...how,
    operands,
    grammar,
  };
}

/** A program that neither runs nor opens its words. */
export const none = row("none", "", { unlisted: true });

function namesOf({ short, long }: Spec, ...kinds: Kind[]): string[] {
  const all = [...short.values(), ...long.values()].filter(({ kind }) => kinds.includes(kind));
  return [...new Set(all.map(({ name }) => name))];
}
