import { GateError } from "../errors.ts";
import type { Evaluation } from "./evaluate.ts";
import { type About, type Finding, isBuiltin } from "./finding.ts";
import { compilePath, matchPath, namePath, type PathPattern } from "./path_match.ts";
import { meter } from "./meter.ts";
import type { PathFacts, Surroundings } from "./request.ts";
import { type CommandPattern, compileCommand, programOf, spellsOut } from "./command_match.ts";
import type { Unit } from "./interpret/unit.ts";

/** The pattern of a grant: it matches files, or one program. */
export type GrantPattern =
  | { kind: "path"; compiled: PathPattern }
  | { kind: "command"; compiled: CommandPattern };

/** A question to a person, with everything that its answer depends on. */
export interface Question {
  evaluation: Pick<Evaluation, "decision" | "asks" | "units" | "analysis">;
  command: string | null;
  cwd: string | null;
  around: Surroundings;
  /**
   * Why no grant can answer it; null if one can. A grant answers the rules and the default of the
   * policy; builtin rules ask every time.
   */
  refused: string | null;
}

/** Completes a question with the reason why no grant can answer it. */
export function createQuestion(question: Omit<Question, "refused">): Question {
  return { ...question, refused: unanswerableBecause(question) };
}

/** Compiles a reviewer's pattern. @throws GateError `invalid`, naming its fault */
export function compileGrant(kind: GrantPattern["kind"], pattern: string): GrantPattern {
  if (!/[^*?/.~\s[\]{}]/.test(pattern)) throw tooWide(pattern);
  if (kind === "path") return { kind, compiled: compilePath(pattern) };
  const compiled = compileCommand(pattern);
  if (compiled.length > 1) throw refuse(pattern, "it must name one program only, not a pipeline");
  if (programOf(compiled) === null) throw refuse(pattern, "it must spell out the program");
  return { kind, compiled };
}

function unanswerableBecause(question: Omit<Question, "refused">): string | null {
  const { decision, asks, analysis } = question.evaluation;
  if (decision.effect === "deny") return `policy blocks it: ${decision.reason}`;
  if (decision.effect === "allow") return "policy allows it without being asked";
  const always = asks.find(isBuiltin);
  if (always) return `a person decides on this each time: ${always.reason}`;
  const [unknown] = analysis?.unresolved ?? [];
  if (unknown !== undefined) return `the value of ${unknown} is not known in advance`;
  const outside = firstOutside(question);
  return outside === null ? null : `"${outside}" is outside the project`;
}

/** The first file outside every root that the command touches; devices do not count. */
function firstOutside({ evaluation: { analysis }, cwd, around }: Omit<Question, "refused">) {
  if (!analysis || cwd === null) return null;
  const paths = [...analysis.reads, ...analysis.writes, ...analysis.deletes];
  const isOutside = (path: string) => {
    const whole = path.startsWith("/") ? path : `${cwd}/${path}`;
    return !/^\/dev\/(null|std(in|out|err)|tty)$/.test(whole) && !isInside(whole, around);
  };
  return paths.find(isOutside) ?? null;
}

/** Whether the real path is inside a root; an invalid path is not. */
function isInside(path: string, around: Surroundings): boolean {
  try {
    const { real } = around.resolve(path);
    return namePath(real, around.roots, around.user_home).roots.length > 0;
  } catch {
    return false;
  }
}

/** The names of the questions; a grant answers these and no others. */
export function questionsOf(asks: readonly Finding[]): string[] {
  return [...new Set(asks.map(({ rule }) => nameQuestion(rule)))];
}

/** The name of one question: its rule, or `default`. */
export function nameQuestion(rule: Finding["rule"]): string {
  return rule ? `${rule.source} ${rule.list} ${rule.pattern}` : "default";
}

/** Whether the pattern answers every question; a grant without a pattern means this action. */
export function answersAll(pattern: GrantPattern | null, question: Question): boolean {
  if (question.refused !== null) return false;
  if (pattern === null) return true;
  meter.reset();
  try {
    return coversAll(pattern, question);
  } catch {
    return false; // too much work, or an invalid path: a person decides
  }
}

function coversAll(pattern: GrantPattern, question: Question): boolean {
  const { evaluation: { asks }, around } = question;
  const isAnswered = pattern.kind === "path"
    ? (about: About) => "path" in about && matchesPath(pattern.compiled, about.path, around)
    : (about: About) => "unit" in about && matchesUnit(pattern.compiled, about.unit);
  if (!asks.every(({ about, unsure }) => about && !unsure && isAnswered(about))) return false;
  return pattern.kind === "path" || coversCommand(pattern.compiled, question);
}

function matchesPath(pattern: PathPattern, path: PathFacts, around: Surroundings): boolean {
  return [path.lexical, path.real].every((one) =>
    matchPath(pattern, namePath(one, around.roots, around.user_home), false) === "yes"
  );
}

function matchesUnit(pattern: CommandPattern, unit: Unit): boolean {
  return !unit.supposed && !unit.task && spellsOut(pattern, unit);
}

/** Whether the pattern or the policy covers each program, and the command contains nothing else. */
function coversCommand(pattern: CommandPattern, { evaluation, ...question }: Question): boolean {
  const units = evaluation.units.filter(({ supposed, task }) => !supposed && !task);
  const moves = units.filter(({ argv }) => MOVES.has(argv[0] ?? ""));
  const isFine = (unit: Unit) =>
    spellsOut(pattern, unit) || (unit.passive ? isNeutral(unit, question) : true);
  return moves.length <= 1 && units.every(isFine) && isBare(question.command ?? "", units);
}

const MOVES = new Set(["cd", "pushd"]);
/** Builtins without effects. Wrappers such as `sudo` are not among them. */
const NEUTRAL = new Set([":", "true", "false", "exit", "echo", "printf", "pwd", "wait"]);

function isNeutral({ argv }: Unit, { cwd, around }: Omit<Question, "evaluation">): boolean {
  const [program = "", folder = "", ...more] = argv;
  if (NEUTRAL.has(program)) return true;
  if (!MOVES.has(program) || more.length > 0 || !/^[^-]/.test(folder) || cwd === null) return false;
  return isInside(folder.startsWith("/") ? folder : `${cwd}/${folder}`, around);
}

/**
 * Whether a command contains only its programs and the operators between them: an assignment, a loop
 * or a redirect could change what they do.
 */
function isBare(command: string, units: readonly Unit[]): boolean {
  const texts = [...new Set(units.map(({ text }) => text))].sort((a, b) => b.length - a.length);
  const rest = texts.reduce((left, text) => text ? left.replaceAll(text, " ") : left, command);
  return /^(?:[\s;&|]|\d?>{1,2}\s?(?:&\d|\/dev\/null(?![\w/.-])))*$/.test(rest);
}

function tooWide(pattern: string): GateError {
  return refuse(pattern, "it matches everything; write a policy rule instead");
}

function refuse(pattern: string, why: string): GateError {
  return new GateError("invalid", `Cannot remember the pattern "${pattern}": ${why}`);
}
