import type { CompoundCommand, CompoundList, Redirected } from "unbash";
import { ANY, generalise, SPLIT, TAME } from "../holes.ts";
import { changesMeaning, hidesCode } from "./forms.ts";
import { SharedMap } from "./shared_map.ts";

/** The possible values of a variable, or the items of an array. */
export interface Variable {
  values: string[];
  items: string[] | null;
}

export type FunctionBody = CompoundCommand | Redirected | CompoundList;

const MOST_VALUES = 24;
const MOST_NAMES = 64;

/** Parameters that every shell sets to one harmless word. */
const NEVER_EMPTY = new Set("?$#");

/** Variables that some shells set to one harmless word; in the others they are empty. */
const TAME_NAMES = new Set(
  ("USER LOGNAME UID EUID PPID RANDOM SRANDOM SECONDS LINENO BASHPID HOSTNAME HOSTTYPE OSTYPE " +
    "MACHTYPE EPOCHSECONDS EPOCHREALTIME SHLVL COLUMNS LINES BASH_VERSION !").split(" "),
);

/** Variables whose value bash or zsh computes as arithmetic when it is assigned. */
const COMPUTED = new Set(
  ("RANDOM SRANDOM SECONDS LINENO HISTCMD OPTIND COLUMNS LINES HISTSIZE SAVEHIST MAILCHECK KEYTIMEOUT TMOUT " +
    "LISTMAX LOGCHECK DIRSTACKSIZE SHLVL BAUD ERRNO FUNCNEST TRY_BLOCK_ERROR TRY_BLOCK_INTERRUPT UID GID EUID EGID")
    .split(" "),
);
const COMPUTES = "the shell may run code when it computes with its value";
const NUMBERS = /^[-+]?[\d.\uFDD2]*\s*$/;

/** The state of a shell at one point of a script. */
export class Shell {
  readonly variables: SharedMap<Variable>;
  readonly functions: SharedMap<FunctionBody>;
  readonly aliases: SharedMap<string>;
  /** Functions that are defined on some branches only, so the program of that name may run. */
  readonly unsure: SharedMap<true>;
  /** An alias may replace any later word. */
  aliased: boolean;
  /** A `trap` runs code at some later point. */
  trapped: boolean;
  /** Variables that `declare -i` makes numbers. */
  readonly numbers: SharedMap<true>;
  #positional: string[];
  program: string;
  /** The shell may be dash: `$'…'` has no special meaning, and `echo` interprets backslashes. */
  plain: boolean;
  /** Globs also match names with a leading dot. */
  dotted: boolean;
  /** The content of files that the script itself has written. */
  readonly files: SharedMap<string>;
  /** The copies that the script itself has made, and what each is a copy of. */
  copies: readonly (readonly [copy: string, source: string])[];
  /** Other possible current folders, because a `cd` may fail. */
  otherFolders: readonly string[];
  /** The stack of `pushd`. */
  folders: readonly string[];
  /** The folder before a `cd` that may have failed. */
  previous: string | null;
  /** The folder where the command starts. */
  start: string;
  /** Called for a variable that changes what later commands mean, with the reason. */
  warn: (name: string, reason: string) => void;

  /** A new shell, or a copy of `from`. */
  constructor(public cwd: string, readonly home: string, from?: Shell) {
    this.variables = from ? from.variables.copy() : new SharedMap();
    this.functions = from ? from.functions.copy() : new SharedMap();
    this.aliases = from ? from.aliases.copy() : new SharedMap();
    this.unsure = from ? from.unsure.copy() : new SharedMap();
    this.aliased = from?.aliased ?? false;
    this.trapped = from?.trapped ?? false;
    this.numbers = from ? from.numbers.copy() : new SharedMap();
    this.#positional = from?.positional ?? [];
    this.program = from?.program ?? "bash";
    this.plain = from?.plain ?? false;
    this.dotted = from?.dotted ?? false;
    this.files = from ? from.files.copy() : new SharedMap();
    this.copies = from?.copies ?? [];
    this.otherFolders = from?.otherFolders ?? [];
    this.folders = from?.folders ?? [];
    this.previous = from?.previous ?? null;
    this.start = from?.start ?? cwd;
    this.warn = from?.warn ?? (() => {});
  }

  /** `$1` and what follows it. */
  get positional(): string[] {
    return this.#positional;
  }

  set positional(words: string[]) {
    if (words.some(hidesCode)) this.warn("@", COMPUTES);
    this.#positional = words;
  }

  /** A copy for a subshell or a branch. */
  fork(): Shell {
    return new Shell(this.cwd, this.home, this);
  }

  /** Merges the state after a branch with the state without it. */
  join(branch: Shell): void {
    this.#joinVariables(branch);
    this.#joinFunctions(branch);
    for (const name of branch.numbers.keys()) this.numbers.set(name, true);
    for (const [name, text] of branch.aliases) this.aliases.set(name, text);
    this.dotted ||= branch.dotted;
    this.aliased ||= branch.aliased;
    this.trapped ||= branch.trapped;
    if (this.copies !== branch.copies) {
      const copies = this.copies;
      this.copies = [...copies, ...branch.copies.filter((one) => !copies.includes(one))];
    }
    if (!this.files.shares(branch.files)) {
      for (const [path, text] of branch.files) {
        this.files.set(path, eitherText(this.files.get(path) ?? "", text));
      }
    }
    const folders = [this.cwd, ...this.otherFolders, ...branch.otherFolders];
    this.cwd = branch.cwd;
    this.otherFolders = [...new Set(folders)].filter((one) => one !== branch.cwd).slice(0, 4);
    const { positional } = branch;
    if (this.#positional !== positional && this.#positional.join("\0") !== positional.join("\0")) {
      this.#positional = [SPLIT];
    }
  }

  #joinVariables({ variables }: Shell): void {
    if (this.variables.shares(variables)) return;
    for (const name of new Set([...this.variables.keys(), ...variables.keys()])) {
      const [mine, other] = [this.variables.get(name), variables.get(name)];
      if (mine !== other) {
        this.variables.set(name, union(mine ?? unset(name), other ?? unset(name)));
      }
    }
  }

  #joinFunctions({ functions, unsure }: Shell): void {
    if (!this.functions.shares(functions)) {
      for (const name of new Set([...this.functions.keys(), ...functions.keys()])) {
        if (this.functions.get(name) !== functions.get(name)) this.unsure.set(name, true);
      }
      for (const [name, body] of functions) this.functions.set(name, body);
    }
    if (!this.unsure.shares(unsure)) {
      for (const name of unsure.keys()) {
        this.unsure.set(name, true);
      }
    }
  }

  /** Keeps the files of an ended subshell; its other state is lost. */
  keepFiles(ended: Shell): void {
    if (this.files.shares(ended.files)) return;
    for (const [path, text] of ended.files) this.files.set(path, text);
  }

  /** Adds a possible current folder. */
  mayBeIn(folder: string): void {
    if (folder !== this.cwd && !this.otherFolders.includes(folder)) {
      this.otherFolders = [...this.otherFolders, folder].slice(-4);
    }
  }

  /** The possible values of a name; an unset one comes from the environment. */
  valuesOf(name: string): string[] {
    const variable = this.variables.get(name);
    const values = variable?.items ? [variable.items[0] ?? ""] : variable?.values;
    // Each change of the folder sets it again.
    if (name === "PWD") return [this.cwd, ...values ?? []];
    if (values) return values;
    return name === "HOME" ? [this.home] : unset(name).values;
  }

  /** The values that arithmetic puts in the place of the names in a text, and of the names in those values. */
  valuesIn(text: string): string[] {
    const known = new Set<string>();
    const found = [text];
    for (let at = 0; at < found.length && known.size < MOST_NAMES; at++) {
      for (const [name] of found[at]!.matchAll(/[A-Za-z_]\w*/g)) {
        if (known.has(name)) continue;
        known.add(name);
        const { values = [], items } = this.variables.get(name) ?? {};
        found.push(...values, ...items ?? []);
      }
    }
    return found.slice(1);
  }

  #check(name: string, values: string[], is_list = false): void {
    const computed = COMPUTED.has(name) || this.numbers.has(name);
    if (computed && !values.every((value) => NUMBERS.test(value))) this.warn(name, COMPUTES);
    else if (values.some(hidesCode)) this.warn(name, COMPUTES);
    if (changesMeaning(name, is_list)) this.warn(name, "it changes the commands after it");
  }

  /**
   * Sets a name; too many possible values become one hole. The old values stay possible: the name may
   * be read-only or local, the command may fail, or a shell may run it in a process of its own.
   */
  assign(name: string, values: string[]): void {
    this.#check(name, values);
    const old = this.variables.get(name);
    const distinct = [...new Set([...values, ...old?.values ?? [], ...old?.items ?? []])];
    const kept = distinct.length > MOST_VALUES ? [generalise(distinct)] : distinct;
    this.variables.set(name, { values: kept, items: null });
  }

  /** Sets a list. It stays known if it is new or goes on where the old one ended. */
  assignItems(name: string, items: string[]): void {
    this.#check(name, items, true);
    const { values = [], items: old } = this.variables.get(name) ?? {};
    const goes_on = old
      ? old.every((item, at) => item === items[at])
      : values.every((value) => value === items[0]);
    this.variables.set(
      name,
      goes_on ? { values: [items[0] ?? ""], items } : { values: [ANY], items: [SPLIT] },
    );
  }
}

/** A file may have either content, so both count as its lines. */
function eitherText(mine: string, other: string): string {
  if (mine === "" || other.startsWith(mine)) return other;
  return mine.length + other.length > MOST_TEXT ? ANY : `${mine}\n${other}`;
}

const MOST_TEXT = 16_384;

function unset(name: string): Variable {
  if (NEVER_EMPTY.has(name)) return { values: [TAME], items: null };
  if (TAME_NAMES.has(name)) return { values: [TAME, ""], items: null };
  return { values: [name === "IFS" ? " \t\n" : ANY], items: null };
}

function union(a: Variable, b: Variable): Variable {
  if (a.items && b.items && a.items.join("\0") === b.items.join("\0")) return a;
  if (a.items || b.items) {
    return { values: [...new Set([...a.values, ...b.values])], items: [SPLIT] };
  }
  const values = [...new Set([...a.values, ...b.values])];
  return { values: values.length > MOST_VALUES ? [generalise(values)] : values, items: null };
}

/** The absolute form of a path as the command sees it, `.` and `..` folded. */
export function absolutePath(path: string, cwd: string): string {
  const full = path.startsWith("/") ? path : `${cwd}/${path}`;
  if (isFolded(path) && (path.startsWith("/") || isFoldedFolder(cwd))) return full;
  const names: string[] = [];
  const isKnown = !OPEN.test(full);
  for (const name of full.split("/")) {
    if (name === "" || name === ".") continue;
    if (name !== "..") names.push(name);
    else if (isKnown || names.length === 0 || !OPEN.test(names.at(-1)!)) names.pop();
    else names.push(name);
  }
  return `/${names.join("/")}`;
}

/** Holes that may have several names. */
const OPEN = /[\uFDD0\uFDD1\uFDD3]/;

/** Whether no name in the path is empty, `.` or `..`. */
function isFolded(path: string): boolean {
  return !/(?:^|\/)\.{0,2}(?:\/|$)/.test(path.startsWith("/") ? path.slice(1) : path);
}

/** Most paths of a command start in one folder, so one result is cached. */
function isFoldedFolder(folder: string): boolean {
  if (folder !== lastFolded) {
    if (!isFolded(folder)) return false;
    lastFolded = folder;
  }
  return true;
}

let lastFolded = "/tmp";

/** The absolute form of a path with its `..`; undefined if it has none. */
export function walkedPath(path: string, cwd: string): string | undefined {
  const full = path.startsWith("/") ? path : `${cwd}/${path}`;
  return full.includes("/..") && /\/\.\.(\/|$)/.test(full) ? full : undefined;
}

/** Whether a path may lead to something that is not below the folder where it starts. */
export function leavesFolder(path: string): boolean {
  if (path.startsWith("/") || path.startsWith("~")) return true;
  if (!path.includes("..")) return false;
  let [depth, length, dots] = [0, 0, 0];
  for (let at = 0; at <= path.length; at++) {
    const code = at < path.length ? path.charCodeAt(at) : SLASH;
    if (code !== SLASH) {
      length++;
      if (code === DOT) dots++;
      continue;
    }
    if (length === 2 && dots === 2) depth--;
    else if (length > 1 || dots < length) depth++;
    if (depth < 0) return true;
    length = dots = 0;
  }
  return false;
}

const [DOT, SLASH] = [46, 47];

/** The path relative to a folder; absolute outside it. */
export function seenFrom(path: string, folder: string): string {
  if (path === folder) return ".";
  return path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : path;
}
