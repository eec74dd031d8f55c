import { ANY, isStatic, isWild, SPLIT } from "../holes.ts";

/**
 * The options of a program, compiled from `-f,--force -e,--exclude= --color=? -0=#`. A sign at the end
 * tells the kind: `<` reads the file in its value, `&` also reads what the file lists, `>` writes it,
 * `!` runs it as a command, `~` changes what the program loads. `--arg=2` takes a name and a value. The
 * entry `@` says that a word `@file` stands for the arguments in that file.
 */
export interface Spec {
  /** Every spelling without dashes, with its option. */
  short: Map<string, Option>;
  long: Map<string, Option>;
  /** Some short options have two letters. */
  pairs: boolean;
  /** Long options have one dash (`find -delete`, `java -jar`), so there are no clusters. */
  single: boolean;
  /** The first operand ends the options (wrappers, `sh`, `ssh`). */
  posix: boolean;
  /** A word `@file` stands for the arguments in that file. */
  files: boolean;
}

export type Kind = "plain" | "reads" | "lists" | "writes" | "runs" | "loads";

export interface Option {
  name: string;
  kind: Kind;
  /**
   * `digits` follow the letter directly, and other letters may follow them (`perl -0777pe`). `named`
   * is a name and a value, two words; the value counts.
   */
  value: "none" | "required" | "optional" | "digits" | "named";
}

/** A program's arguments, parsed. */
export interface Parsed {
  options: { name: string; value: string | null }[];
  operands: string[];
  /** Options as written, for rules that name one in full. */
  raw: ReadonlySet<string>;
  /** An unknown argument may be any option. */
  wild: boolean;
  /** An unquoted unknown argument may be any number of operands. */
  open: boolean;
}

/** Compiles the written form of a program's options. */
export function spec(text: string, how: { single?: boolean; posix?: boolean } = {}): Spec {
  const made: Spec = {
    short: new Map(),
    long: new Map(),
    pairs: false,
    single: how.single ?? false,
    posix: how.posix ?? false,
    files: false,
  };
  for (const row of text.split(/\s+/).filter(Boolean)) {
    if (row === "@") made.files = true;
    else addOption(made, row);
  }
  return made;
}

const VALUES: Record<string, Option["value"]> = {
  "": "none",
  "=": "required",
  "=?": "optional",
  "=#": "digits",
  "=2": "named",
};

const KINDS: Record<string, Kind> = {
  "<": "reads",
  "&": "lists",
  ">": "writes",
  "!": "runs",
  "~": "loads",
};

function addOption(made: Spec, row: string): void {
  const [whole, given = "", sign = ""] = /(=[?#2]?)?([<>!~&])?$/.exec(row)!;
  const value = VALUES[given]!;
  const kind = KINDS[sign] ?? "plain";
  const names = row.slice(0, row.length - whole.length).split(",");
  const option: Option = { name: names.at(-1)!.replace(/^-+/, ""), value, kind };
  for (const name of names) {
    if (name.startsWith("--")) made.long.set(name.slice(2), option);
    else if (made.single && name.length > 2) made.long.set(name.slice(1), option);
    else {
      made.short.set(name.slice(1), option);
      made.pairs ||= name.length > 2;
    }
  }
}

/** The options of programs without a row: no option has aliases or takes a value. */
export const GENERIC = spec("");

/** Parses arguments as the program would. */
export function readOptions(args: readonly string[], grammar: Spec): Parsed {
  const parsed = nothingParsed();
  const queue = new Queue(args);
  for (let arg = queue.next(); arg !== undefined; arg = queue.next()) {
    if (arg === "--") return finish(parsed, queue.rest());
    if (startsUnknown(arg)) noteUnknown(parsed, arg);
    else if (arg.length > 1 && arg.startsWith("-")) readOption(arg, queue, grammar, parsed);
    else {
      if (arg.includes(SPLIT)) parsed.wild = parsed.open = true;
      parsed.operands.push(arg);
      if (grammar.posix) return finish(parsed, queue.rest());
    }
  }
  return parsed;
}

/** The arguments that are still to be read. */
class Queue {
  #at = 0;

  constructor(readonly all: readonly string[]) {}

  next(): string | undefined {
    return this.all[this.#at++];
  }

  rest(): string[] {
    return this.all.slice(this.#at);
  }
}

function nothingParsed(): Parsed {
  return { options: [], operands: [], raw: NO_WORDS, wild: false, open: false };
}

/** Most commands have no option, and a set costs more than everything else here. */
const NO_WORDS: ReadonlySet<string> = new Set();

function finish(parsed: Parsed, rest: string[]): Parsed {
  parsed.operands.push(...rest);
  if (rest.some((arg) => arg.includes(SPLIT))) parsed.open = true;
  return parsed;
}

function startsUnknown(arg: string): boolean {
  return arg.startsWith(ANY) || arg.startsWith(SPLIT);
}

function noteUnknown(parsed: Parsed, arg: string): void {
  parsed.wild = true;
  parsed.open ||= arg.includes(SPLIT);
  parsed.operands.push(arg);
}

function readOption(arg: string, queue: Queue, grammar: Spec, parsed: Parsed): void {
  if (parsed.raw === NO_WORDS) parsed.raw = new Set();
  (parsed.raw as Set<string>).add(arg);
  if (isWild(arg)) parsed.wild = true;
  if (arg.startsWith("--") || grammar.single) readLong(arg, queue, grammar, parsed);
  else readCluster(arg.slice(1), queue, grammar, parsed);
}

function readLong(arg: string, queue: Queue, grammar: Spec, parsed: Parsed): void {
  const equals = arg.indexOf("=");
  const written = arg.slice(arg.startsWith("--") ? 2 : 1, equals < 0 ? undefined : equals);
  const exact = grammar.single ? grammar.short.get(written) : undefined;
  const option = exact ?? findLong(written, grammar);
  if (!option && grammar.single && grammar.short.has(written[0] ?? "")) {
    readCluster(arg.slice(1), queue, grammar, parsed);
    return;
  }
  if (option?.value === "named" && equals < 0) queue.next();
  const value = equals >= 0
    ? arg.slice(equals + 1)
    : option?.value === "required" || option?.value === "named"
    ? queue.next() ?? null
    : null;
  parsed.options.push({ name: option?.name ?? written, value });
}

/** The option of that name, or the only one with that prefix. */
function findLong(written: string, grammar: Spec): Option | undefined {
  const exact = grammar.long.get(written);
  if (exact || written === "" || !isStatic(written)) return exact;
  let only: Option | undefined;
  for (const name of grammar.long.keys()) {
    if (!name.startsWith(written)) continue;
    const option = grammar.long.get(name);
    if (only !== undefined && only !== option) return undefined;
    only = option;
  }
  return only;
}

function readCluster(letters: string, queue: Queue, grammar: Spec, parsed: Parsed): void {
  const seen = letters.length > 1 ? new Set<string>() : null;
  for (let at = 0; at < letters.length; at++) {
    const two = grammar.pairs ? letters.slice(at, at + 2) : "";
    const letter = two.length === 2 && grammar.short.has(two) ? two : letters[at]!;
    if (letter.length === 1 && seen?.has(letter)) continue;
    const option = grammar.short.get(letter);
    at += letter.length - 1;
    if (!option || option.value === "none") {
      // A repeated letter is one option.
      parsed.options.push({ name: option?.name ?? letter, value: null });
      seen?.add(letter);
      continue;
    }
    const rest = letters.slice(at + 1);
    if (option.value === "digits") {
      const digits = /^(?:x[0-9a-fA-F]+|\d*)/.exec(rest)![0];
      parsed.options.push({ name: option.name, value: digits });
      at += digits.length;
      continue;
    }
    const value = rest !== "" ? rest : option.value === "required" ? queue.next() ?? null : null;
    parsed.options.push({ name: option.name, value });
    return;
  }
}

/** The values given to an option, in order. */
export function valuesOf(parsed: Parsed, ...names: string[]): string[] {
  const values: string[] = [];
  if (names.length === 0) return values;
  for (const { name, value } of parsed.options) {
    if (value !== null && names.includes(name)) values.push(value);
  }
  return values;
}

/** Whether one of the options was given. */
export function has(parsed: Parsed, ...names: string[]): boolean {
  return names.length > 0 && parsed.options.some((one) => names.includes(one.name));
}

/** Splits a wrapper's arguments: its options and first `skip` operands, and the command after them. */
export function splitCommand(
  args: readonly string[],
  grammar: Spec,
  skip: number,
): { parsed: Parsed; rest: string[] } {
  const parsed = nothingParsed();
  const queue = new Queue(args);
  for (let arg = queue.next(); arg !== undefined; arg = queue.next()) {
    if (arg === "--") break;
    if (arg.length > 1 && arg.startsWith("-")) readOption(arg, queue, grammar, parsed);
    else if (parsed.operands.length < skip) {
      parsed.operands.push(arg);
      if (grammar.posix && parsed.operands.length === skip) break;
    } else return { parsed, rest: [arg, ...queue.rest()] };
  }
  return { parsed, rest: queue.rest() };
}

/** Table entries for several names with the same value. */
export function forNames<T>(names: string, value: T): Record<string, T> {
  return Object.fromEntries(names.split(" ").map((name) => [name, value]));
}

/** Whether the option of that name takes a value. */
export function needsValue(name: string, known: Spec): boolean {
  const found = VALUED_NAMES.get(known) ?? valuedNames(known);
  return found.has(name);
}

/** The names of the options with a value of each spec, found once. */
const VALUED_NAMES = new WeakMap<Spec, ReadonlySet<string>>();

function valuedNames(known: Spec): ReadonlySet<string> {
  const all = [...known.short.values(), ...known.long.values()];
  const names = new Set(all.filter(({ value }) => value === "required").map(({ name }) => name));
  VALUED_NAMES.set(known, names);
  return names;
}

/** The kinds of options that an allow rule must name. */
const MATTERS = new Set<Kind>(["lists", "runs", "loads"]);

/** The names of the other options of each spec, found once. */
const PLAIN_NAMES = new WeakMap<Spec, ReadonlySet<string>>();

function plainNames(known: Spec): ReadonlySet<string> {
  const found = PLAIN_NAMES.get(known);
  if (found) return found;
  const all = [...known.short.values(), ...known.long.values()];
  const names = new Set(all.filter(({ kind }) => !MATTERS.has(kind)).map(({ name }) => name));
  PLAIN_NAMES.set(known, names);
  return names;
}

/** The options that a list does not have, and abbreviations. */
export function outside({ options, raw }: Parsed, known: Spec): string[] {
  if (raw.size === 0) return [];
  const names = plainNames(known);
  const unknown = options.map(({ name }) => name).filter((name) =>
    !names.has(name) && name !== "help" && name !== "version"
  );
  // An abbreviation may mean another option in another version of the program.
  for (const word of raw) {
    const long = known.single ? null : /^--([^=]+)/.exec(word)?.[1];
    if (long && !known.long.has(long) && !/^(help|version)$/.test(long)) unknown.push(long);
  }
  return [...new Set(unknown)];
}
