import { GateError } from "../errors.ts";
import type { Evaluation } from "./evaluate.ts";
import { type About, type Finding, isBuiltin } from "./finding.ts";
import { compilePath, matchPath, namePath, type PathPattern } from "./path_match.ts";
import { meter } from "./meter.ts";
import type { PathFacts, Surroundings } from "./request.ts";
import { type CommandPattern, compileCommand, programOf, spellsOut } from "./command_match.ts";
import type { Unit } from "./shell/unit.ts";

/** The rule that a reviewer made of an approval: it speaks of files, or of one program. */
export type GrantPattern =
  | { kind: "path"; compiled: PathPattern }
  | { kind: "command"; compiled: CommandPattern };

type Judged = Pick<Evaluation, "decision" | "asks" | "units" | "analysis">;

/** Whatever was asked of a person, with what the answer to it depends on. */
export interface Question {
  evaluation: Judged;
  command: string | null;
  cwd: string | null;
  around: Surroundings;
  /**
   * Why nobody can answer it ahead of time; null where a person can. Only what a rule of the policy
   * or its default asks can be answered: what is built in is asked every time.
   */
  refused: string | null;
}

/** A question, with whether it can be answered ahead of time. */
export function createQuestion(asked: Omit<Question, "refused">): Question {
  return { ...asked, refused: whyAskedAgain(asked) };
}

/** Compiles a reviewer's pattern. @throws GateError `invalid`, saying what is wrong with it */
export function compileGrant(kind: GrantPattern["kind"], pattern: string): GrantPattern {
  if (!/[^*?/.~\s[\]{}]/.test(pattern)) throw tooWide(pattern);
  if (kind === "path") return { kind, compiled: compilePath(pattern) };
  const compiled = compileCommand(pattern);
  if (compiled.length > 1) throw refuse(pattern, "it may name one program only, not a pipeline");
  if (programOf(compiled) === null) throw refuse(pattern, "it does not spell out which program");
  return { kind, compiled };
}

function whyAskedAgain(asked: Omit<Question, "refused">): string | null {
  const { evaluation } = asked;
  const { decision, asks, analysis } = evaluation;
  if (decision.effect === "deny") return `policy blocks it: ${decision.reason}`;
  if (decision.effect === "allow") return "policy allows it without being asked";
  const always = asks.find(isBuiltin);
  if (always) return `a person decides on this each time: ${always.reason}`;
  const [unknown] = analysis?.unresolved ?? [];
  if (unknown !== undefined) return `nobody can know ahead of time what ${unknown} will be`;
  const outside = firstOutside(asked);
  return outside === null ? null : `"${outside}" is outside the project`;
}

/** A file outside every root that a command touches or reads; devices keep nothing. */
function firstOutside({ evaluation: { analysis }, cwd, around }: Omit<Question, "refused">) {
  if (!analysis || cwd === null) return null;
  const paths = [...analysis.reads, ...analysis.writes, ...analysis.deletes];
  const isOutside = (path: string) => {
    const whole = path.startsWith("/") ? path : `${cwd}/${path}`;
    return !/^\/dev\/(null|std(in|out|err)|tty)$/.test(whole) && !isInside(whole, around);
  };
  return paths.find(isOutside) ?? null;
}

/** By where it really is; a path that no system takes is nowhere inside. */
function isInside(path: string, around: Surroundings): boolean {
  try {
    const { real } = around.resolve(path);
    return namePath(real, around.roots, around.user_home).roots.length > 0;
  } catch {
    return false;
  }
}

/** The names of what is asked: a grant answers these, and never another rule's question. */
export function questionsOf(asks: readonly Finding[]): string[] {
  return [...new Set(asks.map(({ rule }) => nameQuestion(rule)))];
}

/** The name of one question: its rule, or the default where no rule speaks. */
export function nameQuestion(rule: Finding["rule"]): string {
  return rule ? `${rule.source} ${rule.list} ${rule.pattern}` : "default";
}

/** Whether the pattern answers everything that is asked; without one the very action is meant. */
export function answersAll(pattern: GrantPattern | null, question: Question): boolean {
  if (question.refused !== null) return false;
  if (pattern === null) return true;
  meter.reset();
  try {
    return namesAll(pattern, question);
  } catch {
    return false; // too much to compare, or a path that no system takes: a person decides
  }
}

function namesAll(pattern: GrantPattern, question: Question): boolean {
  const { evaluation: { asks }, around } = question;
  const isAnswered = pattern.kind === "path"
    ? (about: About) => "path" in about && namesPath(pattern.compiled, about.path, around)
    : (about: About) => "unit" in about && namesUnit(pattern.compiled, about.unit);
  if (!asks.every(({ about, unsure }) => about && !unsure && isAnswered(about))) return false;
  return pattern.kind === "path" || namesCommand(pattern.compiled, question);
}

function namesPath(pattern: PathPattern, path: PathFacts, around: Surroundings): boolean {
  return [path.lexical, path.real].every((one) =>
    matchPath(pattern, namePath(one, around.roots, around.user_home), false) === "yes"
  );
}

function namesUnit(pattern: CommandPattern, unit: Unit): boolean {
  return !unit.supposed && !unit.task && spellsOut(pattern, unit);
}

/** Every program has to be named, harmless, or allowed by policy itself; and nothing may stand around. */
function namesCommand(pattern: CommandPattern, { evaluation, ...question }: Question): boolean {
  const units = evaluation.units.filter(({ supposed, task }) => !supposed && !task);
  const moves = units.filter(({ argv }) => MOVES.has(argv[0] ?? ""));
  const isFine = (unit: Unit) =>
    spellsOut(pattern, unit) || (unit.passive ? isNeutral(unit, question) : true);
  return moves.length <= 1 && units.every(isFine) && isBare(question.command ?? "", units);
}

const MOVES = new Set(["cd", "pushd"]);
/** What a shell does by itself without a trace; wrappers such as `sudo` are not among them. */
const NEUTRAL = new Set([":", "true", "false", "exit", "echo", "printf", "pwd", "wait"]);

function isNeutral({ argv }: Unit, { cwd, around }: Omit<Question, "evaluation">): boolean {
  const [program = "", folder = "", ...more] = argv;
  if (NEUTRAL.has(program)) return true;
  if (!MOVES.has(program) || more.length > 0 || !/^[^-]/.test(folder) || cwd === null) return false;
  return isInside(folder.startsWith("/") ? folder : `${cwd}/${folder}`, around);
}

/**
 * Whether a command is its programs and what strings them together: an assignment, a loop or a
 * redirect around them can change what they do.
 */
function isBare(command: string, units: readonly Unit[]): boolean {
  const texts = [...new Set(units.map(({ text }) => text))].sort((a, b) => b.length - a.length);
  const rest = texts.reduce((left, text) => text ? left.replaceAll(text, " ") : left, command);
  return /^(?:[\s;&|]|\d?>{1,2}\s?(?:&\d|\/dev\/null(?![\w/.-])))*$/.test(rest);
}

function tooWide(pattern: string): GateError {
  return refuse(pattern, "it would match everything; a rule in the policy can say so");
}

function refuse(pattern: string, why: string): GateError {
  return new GateError("invalid", `Cannot remember the pattern "${pattern}": ${why}`);
}
