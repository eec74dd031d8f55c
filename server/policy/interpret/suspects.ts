import { ANY } from "../holes.ts";
import type { Call } from "./call.ts";
import { baseName, SHELLS } from "../programs/grammar.ts";
import { isInterpreter } from "../programs/languages.ts";
import { ROWS } from "../programs/rows.ts";
import { FOLLOWED } from "../programs/specials.ts";
import type { Recorder } from "./recorder.ts";

/** Programs that only start the command in their words, which is followed. */
const STARTS = new Set(["env", "nohup", "time", "timeout", "nice", "sudo", "doas"]);

/**
 * Records the texts that a program may run: the files that the same command wrote before, what
 * follows an escape (`!git push`), and all words and the input of a program that no table describes
 * or that names a shell. Other programs' code and input are searched for names of files only, and
 * their words for the name of a program and its arguments, one word each.
 */
export function noteSuspects(
  name: string,
  argv: readonly string[],
  call: Call,
  recorder: Recorder,
  isKnown: boolean,
): void {
  const row = Object.hasOwn(ROWS, name) ? ROWS[name]! : null;
  if (isKnown && (FOLLOWED.has(name) || STARTS.has(name) || (row && row.words !== "code"))) return;
  const words = argv.slice(1);
  for (const content of call.shell.files.values()) {
    if (content !== ANY) recorder.suspect(content, call);
  }
  for (const text of [...words, call.stdin]) {
    if (!ESCAPES.test(text)) continue;
    for (const [, line] of text.matchAll(ESCAPE)) recorder.suspect(line!, call);
  }
  const runs = !isInterpreter(name) && (!isKnown || words.some(namesShell));
  const how = { files_only: !runs, undescribed: !isKnown };
  if (runs) recorder.suspect(words.map(withValue).join(" "), call, how);
  else {
    for (const code of words) if (/[("'$]/.test(code)) recorder.suspect(code, call, how);
    // Without a list of its options, a known program may start the rest of its words.
    if (row?.unlisted && !isInterpreter(name)) recorder.suspect(inOneWord(words).join(" "), call);
    for (const program of inOneWord(programsIn(words))) recorder.suspect(program, call);
  }
  recorder.suspect(call.stdin, call, how);
}

/** The words, without those that are texts. */
function inOneWord(words: readonly string[]): string[] {
  return words.map((word) => /\s/.test(word) ? "-" : word);
}

/** The values of settings whose name says that they are a program: `-wrapper x`, `use_askpass=x`. */
function programsIn(words: readonly string[]): string[] {
  return words.flatMap((word, at) => {
    const [, name = "", value] = SETTING.exec(word) ?? [];
    const given = value ?? (name.startsWith("-") ? words[at + 1] : undefined);
    return given !== undefined && PROGRAM_NAMES.test(name) ? [given] : [];
  });
}

const SETTING = /^([\w.-]+)(?:=([^]+))?$/;
const PROGRAM_NAMES =
  /(wrapper|exec|executable|command|cmd|program|askpass|pager|editor|shell|launcher|runner|hook|preprocessor)$/i;

/** `-Hcode`: the word, and the value that may be attached to its letter. */
function withValue(word: string): string {
  return /^-\w\S*\s/.test(word) ? `${word} ${word.slice(2)}` : word;
}

/** `-wrapper /bin/sh,-s`: the program starts a shell, whatever its table says. */
function namesShell(word: string): boolean {
  return word.includes("/") &&
    word.split(/[\s,:=!("']/).some((part) => part.includes("/") && SHELLS.has(baseName(part)));
}

/** The signs of an escape, a cheap first test that most texts fail. */
const ESCAPES = /!|@exec|[.\\]s[hy]/;

/** The ways in which interactive programs start a shell command. */
const ESCAPE = /^[ \t]*(?:\\?!|:!|@exec\b|[.\\](?:shell|system|sh)\b)[ \t]*(.+)$/gm;

/** Everything but blanks, quotes and the punctuation of the usual languages. */
const WORD = /[^\s"'`,;|&()[\]{}<>=!:%@$\\\uFDD0-\uFDEF]+/g;
const MOST_WORDS = 1_000;

/** A word of a suspect, and whether it stands where a command may begin. */
interface Token {
  word: string;
  begins: boolean;
}

/** The words of a text, without the punctuation of any language around them. */
export function wordsIn(text: string): Token[] {
  const found: Token[] = [];
  for (const { 0: one, index } of text.matchAll(WORD)) {
    const before = text.slice(Math.max(0, index - 2), index);
    found.push({ word: one, begins: index === 0 || /[^\s\w.,-]\s?$|\n$/.test(before) });
    if (found.length >= MOST_WORDS) break;
  }
  return found;
}
