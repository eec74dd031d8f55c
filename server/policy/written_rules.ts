import { type Given, matchUnit } from "./command_match.ts";
import { type Finding, findingOf } from "./finding.ts";
import { fold } from "./fold.ts";
import { matchSegment, type Segment } from "./glob.ts";
import { absolutePath, leavesFolder } from "./interpret/state.ts";
import { evaluateAccess, evaluateRead } from "./path_rules.ts";
import type { CompiledPolicy, PathRules } from "./policy.ts";
import { baseName, readCommand } from "./programs/grammar.ts";
import { WRAPPERS } from "./programs/wrappers.ts";
import type { Unit } from "./interpret/unit.ts";
import { protectGate } from "./protect_command.ts";
import type { CommandRequest, EvaluationOptions, PathFacts } from "./request.ts";
import { readWritten, type Spelt, valueOf, type Written } from "./written.ts";

/**
 * Bounds on what is looked up, so that the cost grows with the text alone. Programs under rules that
 * are named beyond their bound are denied.
 */
const LIMITS = { words: 10_000, paths: 100, gate: 100, findings: 4 } as const;

/**
 * The rules that deny what a command spells. It is asked for a command that gate cannot analyse
 * completely, so that a denied part stays denied however much text stands before it.
 */
export function evaluateWritten(
  policy: CompiledPolicy,
  { command, cwd }: CommandRequest,
  around: EvaluationOptions,
): Finding[] {
  const port = String(around.port);
  const search = new Search(policy, around, {
    ...{ text: command, cwd, port },
    may_be_gate: OF_GATE.test(command) || command.includes(port),
    goes_up: command.includes(".."),
  });
  readWritten(command, (one) => search.meet(one));
  return search.found;
}

/** The words by which a command may concern the gate itself. */
const OF_GATE = /gate|kill|shutdown|reboot|halt|poweroff|systemctl|loginctl|launchctl|\.sock/;

/** A command, and what a look at its whole text tells about all its parts. */
interface Searched {
  text: string;
  cwd: string;
  port: string;
  may_be_gate: boolean;
  goes_up: boolean;
}

/** One word as the name of a program. */
interface Named {
  /** As rules name it. */
  program: string;
  /** How many words behind it may be a program as well. */
  reach: number;
  /** How many rules forbid something to it. */
  rules: number;
}

class Search {
  readonly found: Finding[] = [];
  readonly #names: DeniedNames;
  readonly #seen = new Set<string>();
  readonly #programs = new Map<string, Named>();
  #words = 0;
  #paths = 0;
  #gate = 0;

  constructor(
    readonly policy: CompiledPolicy,
    readonly around: EvaluationOptions,
    readonly request: Searched,
  ) {
    this.#names = namesDeniedBy(policy.paths);
    this.#names.reset();
  }

  meet(one: Written): void {
    if (this.found.length >= LIMITS.findings) return;
    const { words, targets, from } = one;
    const { text, may_be_gate } = this.request;
    const before = this.found.length;
    const at = this.#meetPrograms(words);
    if (may_be_gate) this.#protect(words, at);
    const program = at < words.length ? baseName(valueOf(words[at]!, text)) : "";
    if (!TALKS.has(program)) { for (const word of words) this.#read(word); }
    if (DELETES.has(program)) {
      for (const word of words.slice(at + 1)) {
        this.#access("delete", word);
      }
    }
    for (const word of targets) {
      this.#read(word);
      this.#access("write", word);
    }
    for (let at = before; at < this.found.length; at++) {
      this.found[at]!.text = text.slice(from, from + MOST_SHOWN).trimStart();
    }
  }

  /** Meets the rules about each program that the words may start; returns the place of the last. */
  #meetPrograms(words: readonly Spelt[]): number {
    let last = 0;
    let places: Places | null = null;
    for (let at = 0, reach = 0; at <= reach && at < words.length; at++) {
      const named = this.#named(valueOf(words[at]!, this.request.text));
      if (named.reach > 0) reach = Math.max(reach, at + named.reach);
      else if (named.rules > 0) {
        places ??= new Places(words, this.request.text);
        this.#meetProgram(words, at, named.program, places);
        last = at;
      } else if (last === 0) last = at;
    }
    return last;
  }

  /** Looks a word up as a program, each word once: padding repeats itself. */
  #named(word: string): Named {
    const known = this.#programs.get(word);
    if (known) return known;
    const name = baseName(word);
    const program = name.toLowerCase();
    const rules = this.policy.commands.naming(program).length;
    const named = { program, reach: reachOf(word, name), rules };
    if (this.#programs.size < MOST_NAMES) this.#programs.set(word, named);
    return named;
  }

  #meetProgram(words: readonly Spelt[], at: number, program: string, places: Places): void {
    if (this.found.length >= LIMITS.findings) return;
    const rules = this.policy.commands.denying(program, places.from(at));
    if (rules.length === 0) return;
    if (this.#words > LIMITS.words) {
      const reason = `${rules[0]!.reason} (it may match: its program is named very often)`;
      this.#add({ ...findingOf(rules[0]!), reason });
      return;
    }
    const unit = this.#unit(this.#argv(words, at));
    this.#words += COST_OF_UNIT + unit.argv.length;
    for (const rule of rules) {
      if (matchUnit(rule.compiled, unit, [], true) === "yes") this.#add(findingOf(rule));
    }
  }

  /** The words from a place on; of very many those at both ends. */
  #argv(words: readonly Spelt[], at: number): string[] {
    const kept = words.length - at <= 2 * MOST_WORDS
      ? words.slice(at)
      : [...words.slice(at, at + MOST_WORDS), ...words.slice(-MOST_WORDS)];
    return kept.map((word) => valueOf(word, this.request.text));
  }

  #unit(argv: string[]): Unit {
    const read = readCommand(baseName(argv[0]!), argv.slice(1));
    return { ...WRITTEN, folders: [this.request.cwd], argv, spelled: argv.join("\0"), read };
  }

  #protect(words: readonly Spelt[], at: number): void {
    const { text, port } = this.request;
    if (this.#gate >= LIMITS.gate || at >= words.length) return;
    const spelt = text.slice(words[at]!.from, words.at(-1)!.to);
    if (!OF_GATE.test(spelt) && !spelt.includes(port)) return;
    this.#gate++;
    for (const one of protectGate(this.#unit(this.#argv(words, at)), this.around)) {
      if (one.effect === "deny") this.#add(one);
    }
  }

  /** The rules that deny a file which a word names. */
  #read(word: Spelt): void {
    const { text } = this.request;
    const may = word.value === null
      ? this.#names.mayBeIn(text, word.from, word.to)
      : this.#names.mayBeIn(word.value, 0, word.value.length);
    if (!may || this.#paths >= LIMITS.paths) return;
    const value = valueOf(word, text);
    const path = value.slice(value.lastIndexOf("=") + 1);
    if (!this.#isNew(path)) return;
    this.#paths++;
    const facts = this.around.resolve(this.#full(path));
    if (this.#isElsewhere(facts)) return;
    for (const one of evaluateRead(this.policy, facts, this.around)) {
      if (one.effect === "deny") this.#add(one);
    }
  }

  #access(access: "write" | "delete", word: Spelt): void {
    if (this.#paths >= LIMITS.paths) return;
    const { text, goes_up } = this.request;
    const first = word.value?.[0] ?? text[word.from];
    if (first !== "/" && first !== "~" && !goes_up) return;
    const path = valueOf(word, text);
    if (!leavesFolder(path) || !this.#isNew(`${access} ${path}`)) return;
    this.#paths++;
    const facts = this.around.resolve(this.#full(path));
    if (this.#isElsewhere(facts)) return;
    for (const one of evaluateAccess(this.policy, access, facts, this.around)) {
      if (one.effect === "deny" && one.rule !== null) this.#add(one);
    }
  }

  #full(path: string): string {
    const full = path.startsWith("~/") ? `${this.around.user_home}${path.slice(1)}` : path;
    return absolutePath(full, this.request.cwd);
  }

  /** Whether the rules of another project decide about a file. */
  #isElsewhere({ real }: PathFacts): boolean {
    const { is_guest, roots } = this.around;
    return is_guest === true &&
      !roots.some((root) => real === root || real.startsWith(`${root}/`));
  }

  #isNew(key: string): boolean {
    if (this.#seen.has(key)) return false;
    this.#seen.add(key);
    return true;
  }

  #add(finding: Finding): void {
    const reason = `${finding.reason} (in a command that is too large to analyse)`;
    this.found.push({ ...finding, reason });
  }
}

/** The last place of each word of a simple command, so that each program in it is met quickly. */
class Places {
  readonly #option: number;
  /** Built on first use: most rules need only an option. */
  #last: Map<string, number> | null = null;

  constructor(readonly words: readonly Spelt[], readonly text: string) {
    this.#option = words.findLastIndex(({ from, value }) => (value ?? text[from])?.[0] === "-");
  }

  /** The words from a place on. */
  from(at: number): Given {
    return { option: this.#option >= at, has: (word) => this.#lastOf(word) >= at };
  }

  #lastOf(word: string): number {
    this.#last ??= new Map(this.words.map((one, at) => [valueOf(one, this.text), at]));
    return this.#last.get(word) ?? -1;
  }
}

/** A short command costs as much as so many words. */
const COST_OF_UNIT = 4;
/** The part of the command that a person sees. */
const MOST_SHOWN = 200;
const WRITTEN = { pipes: [], passive: true, supposed: false, task: false, text: "" };
/** How many words behind this one may be a program as well. */
function reachOf(word: string, name: string): number {
  return REACHES.get(name) ?? (word.includes("=") && ASSIGNS.test(word) ? 1 : 0);
}

const MOST_WORDS = 10_000;
const ASSIGNS = /^\w+\+?=/;
/** The most words between a program and the one that it starts: options and their values. */
const MOST_BETWEEN = 8;
/** Words after which another program begins, and how many words may be between them. */
const REACHES = new Map<string, number>([
  ..."if then elif else do while until time ! { coproc".split(" ").map((name) =>
    [name, 1] as const
  ),
  ...["xargs", "eval", "command", "builtin", "exec", ...Object.keys(WRAPPERS)]
    .map((name) => [name, MOST_BETWEEN] as const),
]);
/** Programs whose words are text. */
const TALKS = new Set("echo printf : true false".split(" "));
const DELETES = new Set("rm rmdir unlink shred truncate".split(" "));
/** A quick test whether rules may deny a file with one of the names in a path. */
class DeniedNames {
  readonly #literals = new Set<string>();
  /** The last parts of the other patterns. */
  readonly #patterns: Segment[] = [];
  /** The letters with which denied names begin or end, by their code. */
  readonly #begins = new Uint8Array(128);
  readonly #ends = new Uint8Array(128);
  /** The names of one command that were compared. */
  #tested = new Map<string, boolean>();

  constructor({ all }: PathRules) {
    this.#addLiteral(".gate");
    for (const { effect, compiled } of all) {
      if (effect !== "deny") continue;
      for (const { folded } of compiled) this.#add(folded.all.at(-1)!);
    }
  }

  #add(last: Segment): void {
    if (!last.deep && last.literal !== null) return this.#addLiteral(last.literal);
    this.#patterns.push(last);
    const [front, back] = last.deep ? ["", ""] : [last.front, last.back];
    if (front !== "") mark(this.#begins, front[0]!);
    else if (back !== "") mark(this.#ends, back.at(-1)!);
    else this.#begins.fill(1);
  }

  #addLiteral(name: string): void {
    this.#literals.add(name);
    mark(this.#begins, name[0]!);
  }

  /** Starts a new command. */
  reset(): void {
    this.#tested = new Map();
  }

  /** Whether rules may deny one of the names between two places of a text. */
  mayBeIn(text: string, from: number, to: number): boolean {
    let start = from;
    for (let at = from; at <= to; at++) {
      if (at < to && !SEPARATORS.has(text.charCodeAt(at))) continue;
      if (at > start && this.#isDenied(text, start, at)) return true;
      start = at + 1;
    }
    return false;
  }

  #isDenied(text: string, from: number, to: number): boolean {
    const [first, last] = [text.charCodeAt(from), text.charCodeAt(to - 1)];
    // Other letters may fold to these.
    if (first < 128 && last < 128 && !this.#begins[first] && !this.#ends[last]) return false;
    if (to - from > LONGEST_NAME || (first === DOT && last === DOT && to - from < 3)) return false;
    const name = text.slice(from, to);
    const known = this.#tested.get(name);
    if (known !== undefined || this.#tested.size >= MOST_NAMES) return known ?? false;
    const folded = fold(name);
    const is_denied = this.#literals.has(folded) ||
      this.#patterns.some((one) => matchSegment(one, folded) !== "no");
    this.#tested.set(name, is_denied);
    return is_denied;
  }
}

/** More names of one command are not compared with patterns. */
const MOST_NAMES = 2_000;
/** No file system has a longer name, in characters. */
const LONGEST_NAME = 255;
const DOT = 46;
/** `/` and `=`: an option may stand before a path. */
const SEPARATORS = new Set([47, 61]);

/** Marks a letter in both cases. */
function mark(letters: Uint8Array, letter: string): void {
  for (const one of [letter, letter.toUpperCase()]) {
    if (one.charCodeAt(0) < 128) letters[one.charCodeAt(0)] = 1;
  }
}

const NAMES = new WeakMap<PathRules, DeniedNames>();

function namesDeniedBy(paths: PathRules): DeniedNames {
  const known = NAMES.get(paths) ?? new DeniedNames(paths);
  NAMES.set(paths, known);
  return known;
}
