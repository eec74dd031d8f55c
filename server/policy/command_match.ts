import { GateError } from "../errors.ts";
import type { CompiledRule } from "./finding.ts";
import { compileSegment, GLOB_LIMITS, type Match, matchSegment, type Segment } from "./glob.ts";
import { HOLE, isStatic, isWild } from "./holes.ts";
import { baseName, lastName, type Read, readCommand, SHELLS } from "./programs/grammar.ts";
import { hasOpenCode, hasOpenFilter } from "./programs/computing.ts";
import { isDescribed } from "./programs/described.ts";
import { readSpelled, unknownOptions } from "./programs/known_options.ts";
import { exceedsTask } from "./programs/runners.ts";
import type { Unit } from "./interpret/unit.ts";
import { RuleIndex } from "./rule_index.ts";

/** Arguments of a pattern, read: the subcommands, the options and the operands. */
interface Reading {
  read: Read;
  words: Segment[];
  operands: Segment[];
}

/** One stage of a command pattern: `rm -rf`, or each side of `curl * | sh`. */
interface Stage extends Reading {
  program: Segment;
  /** The pattern contains a slash, so the whole path is compared; otherwise only the last name. */
  whole: boolean;
  shell: boolean;
  /**
   * The pattern read with all spellings of the program's options, as `curl -T` is
   * `curl --upload-file`; null without such options. Only rules that forbid match by it too.
   */
  spelled: Reading | null;
  /** The pattern ends in `*`, so more operands may follow even under an allow rule. */
  open: boolean;
  /** The pattern ends in `--`, so an allow rule covers no operand, and no option beside those it names. */
  bare: boolean;
}

/** A compiled command pattern, one stage for each program of a pipeline. */
export type CommandPattern = readonly Stage[];

/** Compiles a command pattern. @throws GateError `invalid`, naming its fault */
export function compileCommand(pattern: string): CommandPattern {
  const refuse = (why: string) =>
    new GateError("invalid", `Cannot use the pattern "${pattern}": ${why}`);
  if (new TextEncoder().encode(pattern).length > GLOB_LIMITS.bytes) {
    throw refuse(`it is longer than ${GLOB_LIMITS.bytes} bytes`);
  }
  return tokenize(pattern, refuse).map((tokens) => {
    if (tokens.length === 0) throw refuse("it names no program");
    return compileStage(tokens);
  });
}

/** Splits at blanks and `|`; a quoted blank stays in its word. */
function tokenize(pattern: string, refuse: (why: string) => GateError): string[][] {
  const stages: string[][] = [[]];
  const token = /\s*(?:(\|)|((?:"[^"]*"|'[^']*'|\\.|[^\s|"'\\])+))\s*/y;
  while (token.lastIndex < pattern.length) {
    const from = token.lastIndex;
    const found = token.exec(pattern);
    if (!found) throw refuse(`a quote is not closed at "${pattern.slice(from)}"`);
    if (found[1]) stages.push([]);
    else stages.at(-1)!.push(found[2]!.replace(/"([^"]*)"|'([^']*)'/g, "$1$2"));
  }
  return stages;
}

function compileStage([program, ...rest]: [string, ...string[]] | string[]): Stage {
  const name = program!;
  const args = rest.filter((token) => token !== "*" && token !== "**");
  const read = readCommand(baseName(name), args);
  const spelled = read.options.length > 0 ? readSpelled(baseName(name), args) : null;
  return {
    program: compileSegment(name),
    whole: name.includes("/"),
    shell: name === "sh",
    ...segmentsOf(read),
    spelled: spelled && segmentsOf(spelled),
    open: rest.at(-1) === "*" || rest.at(-1) === "**",
    bare: rest.at(-1) === "--",
  };
}

function segmentsOf(read: Read): Reading {
  const words = read.words.slice(1).map(compileSegment);
  return { read, words, operands: read.operands.map(compileSegment) };
}

/** The one program that a pattern names, in lower case; null for several or any. */
export function programOf(pattern: CommandPattern): string | null {
  const { program, shell } = pattern.at(-1)!;
  if (shell || program.deep || program.literal === null) return null;
  return baseName(program.literal).toLowerCase();
}

/** Whether the pattern matches the unit. `forbids` errs towards a match, an allow rule against it. */
export function matchUnit(
  pattern: CommandPattern,
  unit: Unit,
  units: readonly Unit[],
  forbids: boolean,
): Match {
  const last = matchStage(pattern.at(-1)!, unit, forbids);
  if (last === "no" || pattern.length === 1) return last;
  let best: Match = "no";
  for (const { pipeline, stage } of unit.pipes) {
    const found = matchEarlier(pattern.slice(0, -1), pipeline, stage, units);
    if (found === "yes") return last;
    if (found === "maybe") best = "maybe";
  }
  return best;
}

/**
 * Whether the pattern names everything in the unit: it matches as an allow rule, names every option,
 * and names every operand unless it ends in `*`.
 */
export function spellsOut(pattern: CommandPattern, unit: Unit): boolean {
  const [stage, ...more] = pattern;
  if (!stage || more.length > 0 || !unit.argv.every(isStatic)) return false;
  if (matchStage(stage, unit, false) !== "yes") return false;
  const { options, operands } = unit.read;
  const isNamed = (given: Read["options"][number]) =>
    stage.read.options.some((wanted) => gives({ options: [given] }, wanted));
  return options.every(isNamed) && (stage.open || operands.length === stage.operands.length);
}

/** Matches the earlier stages of a pipeline rule in order; other stages may be between them. */
function matchEarlier(
  stages: CommandPattern,
  pipeline: number,
  before: number,
  units: readonly Unit[],
): Match {
  let limit = before;
  let found: Match = "yes";
  for (const stage of stages.toReversed()) {
    const at = latest(stage, pipeline, limit, units);
    if (at === null) return "no";
    limit = at.stage;
    if (at.match === "maybe") found = "maybe";
  }
  return found;
}

function latest(stage: Stage, pipeline: number, limit: number, units: readonly Unit[]) {
  let best: { stage: number; match: Match } | null = null;
  for (const unit of units) {
    const place = unit.pipes.find((one) => one.pipeline === pipeline && one.stage < limit);
    const match = place ? matchStage(stage, unit, true) : "no";
    if (place && match !== "no" && (best === null || place.stage > best.stage)) {
      best = { stage: place.stage, match };
    }
  }
  return best;
}

function matchStage(stage: Stage, unit: Unit, forbids: boolean): Match {
  const program = matchProgram(stage, unit.argv[0] ?? "", forbids);
  if (program === "no") return "no";
  const found = forbids
    ? matchForbidden(stage, unit.read, unit.argv.slice(1))
    : matchAllowed(stage, unit);
  return weaker(program, found);
}

/** Folders whose programs a bare name means; a program elsewhere is another one. */
const SYSTEM = /^(\/usr(\/local)?)?\/s?bin\/[^/]+$|^\/opt\/homebrew\/bin\/[^/]+$/;

function matchProgram(stage: Stage, program: string, forbids: boolean): Match {
  if (isVariable(program)) return matchSegment(stage.program, program);
  if (!forbids && !stage.whole && program.includes("/") && !SYSTEM.test(program)) return "no";
  const name = stage.whole ? program : lastName(program);
  if (stage.shell && (forbids ? PIPED_INTO : SHELLS).has(baseName(name))) return "yes";
  // Only a pattern of globs tells whether it matches every program.
  if (isWild(name) && !stage.program.deep && stage.program.literal !== null) return "maybe";
  const exact = matchSegment(stage.program, name);
  if (exact !== "no" || isWild(program)) return exact === "yes" ? "yes" : "maybe";
  const lower = name.toLowerCase();
  if (lower !== name && matchSegment(stage.program, lower) !== "no") return "maybe";
  const bare = forbids ? baseName(lower) : lower;
  return bare !== lower && matchSegment(stage.program, bare) !== "no" ? "maybe" : "no";
}

/**
 * Whether the word is an assignment such as `FOO=bar`, which starts no program. An assignment to PATH
 * counts as a program, because after it each name may be any program. A name of more than 256
 * characters counts as one too: each rule asks again, and a longer one would be slow.
 */
export function isVariable(word: string): boolean {
  return /^(?!PATH=)\w{1,256}=/.test(word);
}

/** The shells that `sh` means in a rule such as `curl * | sh`. */
const PIPED_INTO = new Set([...SHELLS, ..."fish csh tcsh osh nu elvish xonsh pwsh".split(" ")]);

function matchForbidden(stage: Stage, read: Read, args: readonly string[]): Match {
  const found = matchReading(stage, read);
  if (found === "yes" || stage.spelled === null) return found;
  const spelled = readSpelled(stage.spelled.read.words[0]!, args);
  const other = spelled ? matchReading(stage.spelled, spelled, true) : "no";
  return other === "no" ? found : other;
}

/** With `by_value` a value belongs to its option; without it, it may be any operand. */
function matchReading(stage: Reading, read: Read, by_value = false): Match {
  const words = matchWords(stage, read);
  if (words === "no") return "no";
  const options = matchOptions(stage, read, { wild: words === "maybe", by_value });
  return weaker(words, weaker(options, matchOperands(stage.operands, read)));
}

function matchWords(stage: Reading, read: Read): Match {
  const given = read.words.slice(1);
  let best: Match = "yes";
  for (const [at, word] of stage.words.entries()) {
    const value = given[at];
    if (value === undefined) return read.wild ? "maybe" : "no";
    const found = matchSegment(word, value);
    if (found === "no") return read.wild && given.slice(0, at + 1).some(isWild) ? "maybe" : "no";
    best = weaker(best, found);
  }
  return best;
}

function matchOptions(
  stage: Reading,
  read: Read,
  { wild, by_value }: { wild: boolean; by_value: boolean },
): Match {
  const missing = !by_value && [...stage.read.raw].every((written) => read.raw.has(written))
    ? []
    : stage.read.options.filter((wanted) => !gives(read, wanted));
  if (missing.length === 0) return "yes";
  // The reading without values already asks what an unknown word may be.
  return !by_value && (read.wild || wild) ? "maybe" : "no";
}

function gives(
  read: Pick<Read, "options">,
  wanted: { name: string; value: string | null },
): boolean {
  return read.options.some(({ name, value }) =>
    name === wanted.name &&
    (wanted.value === null || wanted.value === "" ||
      (value !== null && matchSegment(compileSegment(wanted.value), value) !== "no"))
  );
}

/** Whether the operands contain the wanted ones in order; others may be between them. */
function matchOperands(wanted: Segment[], read: Read): Match {
  let at = 0;
  let best: Match = "yes";
  for (const one of wanted) {
    while (at < read.operands.length && matchSegment(one, read.operands[at]!) === "no") at++;
    if (at === read.operands.length) return read.open ? "maybe" : "no";
    best = weaker(best, matchSegment(one, read.operands[at++]!));
  }
  return best;
}

/** An allow rule matches only what it names: the same words, its options, its operands. */
function matchAllowed(stage: Stage, unit: Unit): Match {
  const { argv: [program = "", ...args], read } = unit;
  if (read.unknown || matchWords(stage, read) !== "yes") return "no";
  const name = baseName(program);
  if (hasOpenFilter(name, args)) return "no";
  const named = stage.read.options.length;
  if (stage.bare && (read.operands.length > 0 || (named > 0 && read.options.length > named))) {
    return "no";
  }
  if (!stage.open && stage.operands.length === 0) {
    if (!isDescribed(name) && read.operands.length > 0) return "no";
    if (hasOpenCode(name, args, { is_piped: unit.pipes.length > 0 })) return "no";
    if (exceedsTask(read.words[0] ?? "", unit.argv)) return "no";
  }
  const spelled = stage.read.options.map(({ name }) => name);
  if (unknownOptions(name, args).some((name) => !spelled.includes(name))) return "no";
  if (stage.read.options.some((wanted) => !gives(read, wanted))) return "no";
  // With anything beside it, `--version` may be a word for the program's own script.
  if (spelled.some((name) => /^(version|help)$/.test(name))) {
    return read.operands.length === 0 && read.options.length === spelled.length ? "yes" : "no";
  }
  if (spelled.length > 0 && stage.operands.length === 0 && makesBranch(read)) return "no";
  if (stage.operands.length === 0) return "yes";
  const exact = stage.operands.every((one, at) =>
    read.operands[at] !== undefined && matchSegment(one, read.operands[at]!) === "yes"
  );
  return exact && (stage.open || read.operands.length === stage.operands.length) ? "yes" : "no";
}

/** Whether `git branch` makes a branch of that name: `-v` beside a name lists nothing. */
function makesBranch({ words, operands, options }: Read): boolean {
  return words[0] === "git" && words[1] === "branch" && operands.length > 0 &&
    !options.some(({ name }) => LISTS_BRANCHES.test(name));
}

const LISTS_BRANCHES = /^(l|list|contains|no-contains|merged|no-merged|points-at|show-current)$/;

function weaker(a: Match, b: Match): Match {
  if (a === "no" || b === "no") return "no";
  return a === "maybe" || b === "maybe" ? "maybe" : "yes";
}

/** Whether the pattern names nothing but a program. */
export function isBare(pattern: CommandPattern): boolean {
  const { words, operands, read } = pattern[0]!;
  return words.length === 0 && operands.length === 0 && read.options.length === 0;
}

/** A command rule, compiled. */
export interface CommandRule extends CompiledRule {
  compiled: CommandPattern;
}

/** The longest literal word that a unit needs in order to match; none for a pattern of globs. */
function neededWord(pattern: CommandPattern): string[] {
  const { words, operands, spelled } = pattern.at(-1)!;
  const literals = [...words, ...operands].flatMap((one) => one.deep ? [] : one.literal ?? [])
    // With another spelling the word may be the value of an option.
    .filter((word) => spelled?.read.operands.includes(word) ?? true);
  return literals.sort((a, b) => b.length - a.length).slice(0, 1);
}

/** Whether an unknown part of the unit may be any word. */
function mayNameAny({ words, operands, wild, open }: Read): boolean {
  return wild || open || !words.every(isStatic) || !operands.every(isStatic);
}

const NO_RULES: readonly CommandRule[] = [];

/** The words of a program, as far as a quick test needs them. */
export interface Given {
  /** Whether one of them is an option. */
  option: boolean;
  has(word: string): boolean;
}

/** Command rules indexed by the program and a word that they name, so that a thousand cost little. */
export class CommandIndex {
  readonly #named = new Map<string, RuleIndex<CommandRule>>();
  readonly #open: CommandRule[] = [];
  /** Rules that forbid one program some words, by the longest of them. */
  readonly #worded = new Map<string, CommandRule[]>();
  readonly #all: CommandRule[] = [];
  /** The rules of `naming`, found once for each program. */
  readonly #naming = new Map<string, readonly CommandRule[]>();
  readonly #of_one_program = new Set<CommandRule>();
  /** The longest literal word that a rule about one program needs. */
  readonly #needed = new Map<CommandRule, string>();

  /** Rules about several programs or any. */
  get open(): readonly CommandRule[] {
    return this.#open;
  }

  add(rule: CommandRule): void {
    this.#all.push(rule);
    this.#naming.clear();
    const name = programOf(rule.compiled);
    if (name === null) {
      this.#open.push(rule);
      return;
    }
    this.#of_one_program.add(rule);
    const index = this.#named.get(name) ?? new RuleIndex();
    const [word] = neededWord(rule.compiled);
    index.add(rule, word === undefined ? [] : [word]);
    if (word !== undefined) this.#needed.set(rule, word);
    if (word !== undefined && rule.effect !== "allow" && rule.compiled.length === 1) {
      this.#worded.set(word, [...this.#worded.get(word) ?? [], rule]);
    }
    this.#named.set(name, index);
  }

  /** The rules that name this program and forbid something, each about one program. */
  naming(program: string): readonly CommandRule[] {
    const index = this.#named.get(program);
    if (!index && program !== "sh") return NO_RULES;
    const known = this.#naming.get(program);
    if (known) return known;
    const shells = program === "sh" ? this.#open : NO_RULES;
    const found = [...index?.all ?? NO_RULES, ...shells].filter(({ compiled, effect }) =>
      effect !== "allow" && compiled.length === 1
    );
    this.#naming.set(program, found);
    return found;
  }

  /** The rules that deny this program some words, as far as they may be among its own. */
  denying(program: string, given: Given): readonly CommandRule[] {
    return this.naming(program).filter((rule) => {
      const { effect, compiled } = rule;
      if (effect !== "deny" || (!given.option && compiled[0]!.read.options.length > 0)) {
        return false;
      }
      const needed = this.#needed.get(rule);
      return needed === undefined || given.has(needed);
    });
  }

  /** The rules that forbid these words to another program, which this one may be under a new name. */
  renamed({ argv: [program, ...args] }: Unit): readonly CommandRule[] {
    const rules = new Set<CommandRule>();
    for (const word of args) for (const rule of this.#worded.get(word) ?? NO_RULES) rules.add(rule);
    if (rules.size === 0) return NO_RULES;
    return [...rules].filter(({ compiled: [stage] }) => {
      const name = stage!.read.words[0]!;
      return name !== program &&
        matchForbidden(stage!, readCommand(name, args), args) === "yes";
    });
  }

  /** Whether the rule names one program, so that an unknown program may be it, and is not certainly. */
  isOfOneProgram(rule: CommandRule): boolean {
    return this.#of_one_program.has(rule);
  }

  /** The rules whose program may begin with the known part of a name. */
  #beginningAs(name: string): readonly CommandRule[] {
    const front = name.slice(0, name.search(HOLE)).toLowerCase();
    if (front === "" || isWild(name)) return this.#all;
    return this.#all.filter(({ compiled }) => programOf(compiled)?.startsWith(front) ?? true);
  }

  /** The rules that may match a unit. */
  candidates(unit: Unit): readonly CommandRule[] {
    const program = unit.argv[0] ?? "";
    if (!isStatic(program)) return this.#beginningAs(lastName(program));
    const named = this.#named.get(baseName(program).toLowerCase());
    if (!named) return this.#open;
    const { read } = unit;
    const rules = mayNameAny(read) ? named.all : named.under([...read.words, ...read.operands]);
    return this.#open.length === 0 ? rules : [...rules, ...this.#open];
  }
}
