import { ANY, isStatic, isWild } from "../holes.ts";
import { readOptions, spec, valuesOf } from "./options.ts";

/** The options of sed. */
export const SED_OPTIONS =
  "-n,--quiet,--silent -e,--expression= -f,--file= -E,-r,--regexp-extended -i,--in-place=? " +
  "-s,--separate -u,--unbuffered -z,--null-data -l,--line-length= --debug --posix --sandbox " +
  "--follow-symlinks";
export const SED = spec(SED_OPTIONS);

/** One command of a sed script. */
export interface SedCommand {
  kind: "substitute" | "run" | "write" | "read" | "other";
  /** The pattern and text of `s`, or the argument of `e`, `r` and `w`. */
  pattern: string;
  text: string;
  flags: string;
}

/** The scripts and the files in sed's arguments. */
export function sedParts(argv: readonly string[]): { scripts: string[]; files: string[] } {
  const parsed = readOptions(argv.slice(1), SED);
  const given = valuesOf(parsed, "expression");
  const fromFile = valuesOf(parsed, "file").length > 0;
  if (given.length > 0 || fromFile) return { scripts: given, files: parsed.operands };
  return { scripts: parsed.operands.slice(0, 1), files: parsed.operands.slice(1) };
}

const ADDRESS = /\s*(?:(?:\d+|\$|\/(?:\\.|[^/\\])*\/[IM]*|[,~+!{}\s])\s*)*/y;

/** Commands without a file: at most a number or a label follows. */
const PLAIN = "=dDgGhHlLnNpPqQxzFvbtT:";

/**
 * Parses a sed script into its commands. Null for a script that the versions of sed may read in
 * different ways.
 */
export function readSed(script: string): SedCommand[] | null {
  if (!isStatic(script)) return null;
  const commands: SedCommand[] = [];
  let at = 0;
  while (at < script.length) {
    ADDRESS.lastIndex = at;
    const address = ADDRESS.exec(script)?.[0] ?? "";
    if (isDoubtful(address)) return null;
    at += address.length;
    const char = script[at++];
    if (char === undefined) break;
    if (char === ";" || char === "\n" || char === "}") continue;
    if (char === "#") at = lineEnd(script, at);
    else if (char === "s" || char === "y") {
      const read = readSubstitute(script, at, char);
      if (!read) return null;
      commands.push(read.command);
      at = read.end;
    } else {
      const isPlain = PLAIN.includes(char);
      if (!isPlain && !"aicerRwW".includes(char)) return null;
      const end = isPlain
        ? commandEnd(script, at)
        : "aic".includes(char)
        ? textEnd(script, at)
        : lineEnd(script, at);
      if (end === null) return null;
      if (isPlain && !/^\s*[\w.-]*\s*$/.test(script.slice(at, end))) return null;
      commands.push({
        kind: kindOf(char),
        pattern: "",
        text: script.slice(at, end).trim(),
        flags: "",
      });
      at = end;
    }
  }
  return commands;
}

/** Whether a script only changes and prints its input: it opens and runs nothing. */
export function isComputingSed(script: string): boolean {
  const commands = readSed(script);
  return commands !== null &&
    commands.every(({ kind, flags }) =>
      kind === "other" || (kind === "substitute" && /^[gpiIM\d]*$/.test(flags))
    );
}

/** Whether a delimiter may stand inside of brackets, where only some versions end the pattern. */
function isDoubtful(pattern: string): boolean {
  const bare = pattern.replace(/\\./g, "");
  return /\[[^\]]*$/.test(bare) || /\[[^\]]*\//.test(bare);
}

function kindOf(char: string): SedCommand["kind"] {
  if (char === "e") return "run";
  if (char === "w" || char === "W") return "write";
  return char === "r" || char === "R" ? "read" : "other";
}

function lineEnd(script: string, at: number): number {
  const end = script.indexOf("\n", at);
  return end < 0 ? script.length : end;
}

/** `a text`, `a\text`, or `a\` and the text on the next line. */
const TEXT = /[ \t]*(?![ \t])(?:\\\n|\\(?=[ \t]*[^ \t\n\\])|(?!\\))(?:[^\\\n]|\\[^])*/y;

/**
 * The end of the text that `a`, `i` or `c` adds: a backslash before a line end continues it. Null if
 * versions of sed differ in where it begins, or if another part of the script may continue it.
 */
function textEnd(script: string, at: number): number | null {
  TEXT.lastIndex = at;
  const end = TEXT.exec(script) ? TEXT.lastIndex : at;
  return end === script.length || script[end] === "\n" ? end : null;
}

function commandEnd(script: string, at: number): number {
  while (at < script.length && !";\n}".includes(script[at]!)) at++;
  return at;
}

function readSubstitute(script: string, at: number, kind: string) {
  const delimiter = script[at];
  if (delimiter === undefined) return null;
  const parts: string[] = [];
  let part = "";
  let place = at + 1;
  for (; place < script.length && parts.length < 2; place++) {
    const char = script[place]!;
    if (char === "\\" && place + 1 < script.length) {
      const next = script[++place]!;
      part += next === delimiter ? next : `\\${next}`;
    } else if (char === delimiter) {
      parts.push(part);
      part = "";
    } else part += char;
  }
  if (parts.length < 2 || isDoubtful(parts[0]!)) return null;
  const flags = /^[gpiIeMm\d]*(?:w[^\n]*)?/.exec(script.slice(place))![0];
  const [pattern, text] = parts as [string, string];
  const command: SedCommand = {
    kind: kind === "s" ? "substitute" : "other",
    pattern,
    text,
    flags,
  };
  return { command, end: place + flags.length };
}

/** The output of sed for a script of plain substitutions; `ANY` for others. */
export function sedText(argv: readonly string[], stdin: string): string {
  const { scripts, files } = sedParts(argv);
  const quiet = readOptions(argv.slice(1), SED).options.length > 0;
  if (files.length > 0 || quiet || isWild(stdin) || scripts.length !== 1) return ANY;
  const commands = readSed(scripts[0]!);
  if (!commands || commands.length === 0 || !isStatic(stdin)) return ANY;
  let text = stdin;
  for (const command of commands) {
    const changed = substitute(command, text);
    if (changed === null) return ANY;
    text = changed;
  }
  return text;
}

/** Applies literal patterns only: gate never runs an agent's regular expression. Null for others. */
function substitute({ kind, pattern, text, flags }: SedCommand, input: string): string | null {
  if (kind !== "substitute" || !/^g?$/.test(flags)) return null;
  const plain = /^(\^?)([\w \-./:@,=]*)(\$?)$/.exec(pattern);
  if (!plain || /[&\\]/.test(text) || (plain[2]!.includes(".") && plain[2] !== ".")) return null;
  const [, front, letters, back] = plain;
  const change = (line: string) => {
    if (letters === "" || letters === ".") return null;
    if (front && back) return line === letters ? text : line;
    if (front) return line.startsWith(letters!) ? text + line.slice(letters!.length) : line;
    if (back) return line.endsWith(letters!) ? line.slice(0, -letters!.length) + text : line;
    return flags === "g"
      ? line.replaceAll(letters!, () => text)
      : line.replace(letters!, () => text);
  };
  const changed = input.split("\n").map(change);
  return changed.includes(null) ? null : changed.join("\n");
}
