import { compileSegment, matchSegment } from "./glob.ts";
import { BRACKET, DEEP, isStatic, isWild, QUESTION, show, STAR, TAME } from "./holes.ts";
import { meter } from "./meter.ts";
import type { Surroundings } from "./request.ts";
import { PLAIN } from "./programs/words.ts";
import { baseName } from "./programs/grammar.ts";
import type { Effect, Unit } from "./interpret/unit.ts";
import { analyse } from "./interpret/analyse.ts";

/** One file or folder that a command writes or deletes, possibly by a pattern. */
export interface Touched {
  /** Absolute. */
  folder: string;
  /** One test for each name below the folder; empty for the folder itself. */
  names: NameTest[];
  /** Everything below it is touched as well. */
  deep: boolean;
}

/** Whether the command's pattern matches a name. */
export type NameTest = (name: string) => boolean;

/** The effects of a command that its text shows. */
export interface Foreseen {
  touched: Touched[];
  /** Other possible effects, in words; empty if `touched` is complete. */
  gaps: string[];
}

const SHELLS = /^(ba|da|z|k|mk|a)?sh$/;
const NETWORK =
  /^(curl|wget|nc|ncat|netcat|socat|ssh|scp|sftp|rsync|ftp|telnet|gh|aws|gcloud|kubectl|helm)$/;
const PROCESSES = /^(kill|pkill|killall|systemctl|launchctl|service|docker|podman|at|crontab)$/;
const MOST_GAPS = 20;
/** Decoders put it in the place of bytes that are not UTF-8. */
const REPLACED = "\uFFFD";

/**
 * The files that a command changes according to its text, and its other possible effects. It lists a
 * file in doubt, because an unneeded snapshot does no harm.
 */
export function foresee(command: string, cwd: string, around: Surroundings): Foreseen {
  const { user_home, script } = around;
  const analysed = analyse(command, { cwd, user_home, script });
  const units = analysed.units.filter(({ supposed }) => !supposed);
  const changes = analysed.effects.filter((effect) => effect.op !== "read" && !isSink(effect));
  const gaps = [
    ...(command.includes(REPLACED) ? [] : changes).flatMap(({ path }) =>
      path.includes(REPLACED) ? [noText(show(path))] : []
    ),
    ...analysed.doubts.map(({ reason }) => reason),
    ...analysed.unresolved.map((text) => `the value of "${text}" is unknown`),
    ...units.flatMap(gapOf),
    ...changes.flatMap(({ path }) => isWild(path) ? [`the file "${show(path)}" is unknown`] : []),
    ...(analysed.goes_on ? ["a part of it keeps running in the background"] : []),
  ];
  const spreads = units.some(isSpreading);
  const touched = changes.filter(({ path }) => !isWild(path)).map(({ op, path }) =>
    touchedOf(path, op === "delete" || spreads)
  );
  return { touched, gaps: [...new Set(gaps)].slice(0, MOST_GAPS) };
}

/** Why a file is neither recorded nor restored whose name gate cannot write down. */
export function noText(path: string): string {
  return `"${path}" has a name that is not UTF-8: gate neither records nor restores it`;
}

function gapOf({ argv }: Unit): string[] {
  const name = baseName(argv[0] ?? "");
  if (name === "" || /^\w+=/.test(argv[0]!) || PLAIN.has(name)) return [];
  if (SHELLS.test(name) && argv.some((arg) => /^-[a-z]*c$/.test(arg))) return [];
  const shown = show(name).slice(0, 100);
  if (NETWORK.test(name)) return [`"${shown}" uses the network`];
  if (PROCESSES.test(name)) return [`"${shown}" acts on other processes`];
  return [`the other effects of "${shown}" are unknown`];
}

/** Whether the program writes everything below a folder in its arguments. */
function isSpreading({ argv: [program, ...args] }: Unit): boolean {
  return /^g?cp$|^chmod$/.test(baseName(program ?? "")) &&
    args.some((arg) => /^-[a-zA-Z]*[rRa]|^--(recursive|archive)$/.test(arg));
}

/** Whether the target is a device that keeps nothing. */
function isSink({ path }: Effect): boolean {
  return /^\/dev\/(null|zero|full|stdin|stdout|stderr|tty|fd\/\d+)$/.test(path);
}

function touchedOf(path: string, deep: boolean): Touched {
  if (isStatic(path)) return { folder: path, names: [], deep };
  const names = path.split("/").slice(1);
  const first = names.findIndex((name) => !isStatic(name));
  const folder = `/${names.slice(0, first).join("/")}`;
  if (path.includes(DEEP)) return { folder, names: [], deep: true };
  return { folder, names: names.slice(first).map(patternOf), deep };
}

const PATTERNS: Record<string, string> = {
  [STAR]: "*",
  [TAME]: "*",
  [QUESTION]: "?",
  [BRACKET]: "?",
};

/** A test for one name. Not a regular expression, because many stars could block the daemon for hours. */
function patternOf(name: string): NameTest {
  const text = [...name].map((char) => PATTERNS[char] ?? char.replace(/[\\*?[\]]/, "\\$&"))
    .join("");
  const segment = compileSegment(text.replace(/\*{2,}/g, "*"));
  return (one) => {
    meter.reset();
    return matchSegment(segment, one) !== "no";
  };
}
