import { GateError } from "../../errors.ts";
import { compileSegment, GLOB_LIMITS, type Match, matchSegment, type Segment } from "../glob.ts";
import { isStatic, isWild } from "../holes.ts";
import { type Read, readCommand } from "./grammar.ts";
import type { Unit } from "./unit.ts";

/** One stage of a command pattern: `rm -rf`, or each side of `curl * | sh`. */
interface Stage {
  program: Segment;
  /** With a slash the whole path is compared, without one the last name. */
  whole: boolean;
  shell: boolean;
  read: Read;
  words: Segment[];
  operands: Segment[];
  /** The pattern ends in `*`: more operands may follow, also under an allow rule. */
  open: boolean;
}

/** A command pattern ready to be compared. */
export type CommandPattern = readonly Stage[];

/** Compiles a command pattern. @throws GateError `invalid`, saying what is wrong with it */
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

/** Splits at blanks and `|`; quotes keep a blank inside a word. */
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
  const ruleWords = read.words.slice(1);
  return {
    program: compileSegment(name),
    whole: name.includes("/"),
    shell: name === "sh",
    read,
    words: ruleWords.map(compileSegment),
    operands: read.operands.map(compileSegment),
    open: rest.at(-1) === "*" || rest.at(-1) === "**",
  };
}

/** The one program a pattern speaks of, in small letters; null for several or any. */
export function programOf(pattern: CommandPattern): string | null {
  const { program, shell } = pattern.at(-1)!;
  if (shell || program.deep || program.literal === null) return null;
  return baseName(program.literal).toLowerCase();
}

/** The last name of a program's path, as a rule speaks of it: `git.exe` and `npm.cmd` are git and npm. */
export function baseName(program: string): string {
  const name = lastName(program);
  return name.at(-4) === "." && SUFFIX.test(name.slice(-4)) ? name.slice(0, -4) : name;
}

const SUFFIX = /^\.(?:exe|cmd|bat)$/i;

/** Every rule asks it of the same program: the last answer is kept. */
function lastName(program: string): string {
  if (program !== lastNamed.program) {
    const at = Math.max(program.lastIndexOf("/"), program.lastIndexOf("\\"));
    lastNamed = { program, name: program.slice(at + 1) };
  }
  return lastNamed.name;
}

let lastNamed = { program: "", name: "" };

/** Whether the pattern describes the unit; `forbids` errs towards a match, an allow rule away from it. */
export function compareUnit(
  pattern: CommandPattern,
  unit: Unit,
  units: readonly Unit[],
  forbids: boolean,
): Match {
  const last = compareStage(pattern.at(-1)!, unit, forbids);
  if (last === "no" || pattern.length === 1) return last;
  let best: Match = "no";
  for (const { pipeline, stage } of unit.pipes) {
    const found = compareEarlier(pattern.slice(0, -1), pipeline, stage, units);
    if (found === "yes") return last;
    if (found === "maybe") best = "maybe";
  }
  return best;
}

/**
 * Whether the pattern says all there is to say of the unit: as an allow rule, and no option, and
 * without a final `*` no operand, that it does not name.
 */
export function spellsOut(pattern: CommandPattern, unit: Unit): boolean {
  const [stage, ...more] = pattern;
  if (!stage || more.length > 0 || !unit.argv.every(isStatic)) return false;
  if (compareStage(stage, unit, false) !== "yes") return false;
  const { options, operands } = unit.read;
  const isNamed = (given: Read["options"][number]) =>
    stage.read.options.some((wanted) => gives({ options: [given] }, wanted));
  return options.every(isNamed) && (stage.open || operands.length === stage.operands.length);
}

/** The earlier stages of a pipeline rule, in order, gaps allowed. */
function compareEarlier(
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
    const match = place ? compareStage(stage, unit, true) : "no";
    if (place && match !== "no" && (best === null || place.stage > best.stage)) {
      best = { stage: place.stage, match };
    }
  }
  return best;
}

function compareStage(stage: Stage, unit: Unit, forbids: boolean): Match {
  const program = compareProgram(stage, unit.argv[0] ?? "", forbids);
  if (program === "no") return "no";
  const found = forbids ? compareForbidden(stage, unit.read) : compareAllowed(stage, unit.read);
  return weaker(program, found);
}

/** Folders of which a bare name may be meant; a program elsewhere is another one. */
const SYSTEM = /^(\/usr(\/local)?)?\/s?bin\/[^/]+$|^\/opt\/homebrew\/bin\/[^/]+$/;

function compareProgram(stage: Stage, program: string, forbids: boolean): Match {
  if (!forbids && !stage.whole && program.includes("/") && !SYSTEM.test(program)) return "no";
  const name = stage.whole ? program : lastName(program);
  if (stage.shell && (forbids ? PIPED_INTO : SHELLS).has(baseName(name))) return "yes";
  const exact = matchSegment(stage.program, name);
  if (exact !== "no" || isWild(program)) return exact === "yes" ? "yes" : "maybe";
  const lower = name.toLowerCase();
  if (lower !== name && matchSegment(stage.program, lower) !== "no") return "maybe";
  const bare = forbids ? baseName(lower) : lower;
  return bare !== lower && matchSegment(stage.program, bare) !== "no" ? "maybe" : "no";
}

/** Names of shells that read commands in the Bourne shell's language. */
export const SHELLS = new Set(["sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "rbash", "yash"]);
/** With these a rule such as `curl * | sh` means every shell that reads commands. */
const PIPED_INTO = new Set([
  ...SHELLS,
  "fish",
  "csh",
  "tcsh",
  "osh",
  "nu",
  "elvish",
  "xonsh",
  "pwsh",
]);

function compareForbidden(stage: Stage, read: Read): Match {
  const words = compareWords(stage, read);
  if (words === "no") return "no";
  const options = compareOptions(stage, read, words === "maybe");
  return weaker(words, weaker(options, inOrder(stage.operands, read)));
}

function compareWords(stage: Stage, read: Read): Match {
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

function compareOptions(stage: Stage, read: Read, wild: boolean): Match {
  const missing = [...stage.read.raw].every((written) => read.raw.has(written))
    ? []
    : stage.read.options.filter((wanted) => !gives(read, wanted));
  if (missing.length === 0) return "yes";
  return read.wild || wild ? "maybe" : "no";
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

/** The wanted operands in order, others in between. */
function inOrder(wanted: Segment[], read: Read): Match {
  let at = 0;
  let best: Match = "yes";
  for (const one of wanted) {
    while (at < read.operands.length && matchOperand(one, read.operands[at]!) === "no") at++;
    if (at === read.operands.length) return read.open ? "maybe" : "no";
    best = weaker(best, matchOperand(one, read.operands[at++]!));
  }
  return best;
}

function matchOperand(wanted: Segment, operand: string): Match {
  return matchSegment(wanted, operand);
}

/** An allow rule answers only for what it spells out: the same words, its options, its operands. */
function compareAllowed(stage: Stage, read: Read): Match {
  if (read.unknown || compareWords(stage, read) !== "yes") return "no";
  if (stage.read.options.some((wanted) => !gives(read, wanted))) return "no";
  if (stage.operands.length === 0) return "yes";
  const exact = stage.operands.every((one, at) =>
    read.operands[at] !== undefined && matchOperand(one, read.operands[at]!) === "yes"
  );
  return exact && (stage.open || read.operands.length === stage.operands.length) ? "yes" : "no";
}

function weaker(a: Match, b: Match): Match {
  if (a === "no" || b === "no") return "no";
  return a === "maybe" || b === "maybe" ? "maybe" : "yes";
}
