import { ANY, isNamed, isStatic, isWild, show } from "../holes.ts";
import { isDescribed, isKnown } from "../programs/described.ts";
import { baseName } from "../programs/grammar.ts";
import { searchCode } from "../programs/inline_code.ts";
import { LANGUAGES } from "../programs/languages.ts";
import { touchListed } from "../programs/operands.ts";
import { BUILTINS } from "./builtins.ts";
import type { Call, Runner } from "./call.ts";
import { absolutePath } from "./state.ts";
import { wordsIn } from "./suspects.ts";

/** Bounds of what is supposed of one program, beyond which a person decides; how deep it nests. */
const LIMITS = { words: 64, notes: 24, texts: 24, code: 8_192, items: 8, depth: 6 } as const;

/**
 * Judges a program that no record describes. It may be any other program under a new name: a shell,
 * an interpreter, a wrapper or an editor. So its words and its input may be commands, code of any
 * language, settings and names of files, and it may write the files that it names.
 */
export function supposeAny(argv: readonly string[], call: Call, run: Runner): void {
  const words = argv.slice(1);
  const supposed: Call = { ...call, supposed: true, stdin: "" };
  const programs = [...words.keys()].filter((at) => PROGRAM.test(words[at]!));
  for (const at of programs.slice(0, LIMITS.notes)) {
    if (at === 0 || at + 1 < words.length) run.note(words.slice(at), supposed, true);
  }
  run.spend(COST);
  if (call.depth > LIMITS.depth || (call.supposed && !call.guessed)) return;
  if (words.length > LIMITS.words) {
    run.doubt(`${WHO}, and it has too many words`, argv[0]!, call);
    return;
  }
  const guessed: Call = { ...call, supposed: true, guessed: "text", stdin: "" };
  doubtUnknown(argv, call, run);
  doubtSettings(words, call, run);
  touchDeleted(words, call, run);
  if (!call.supposed) touchCopied(words, call, run);
  // The words after a program are its own.
  programs.some((at) => supposeCommand(words, at, call, run));
  const texts = textsOf(words, call, run);
  for (const text of texts.filter(isCode)) {
    run.code(text, { ...guessed, shell: call.shell.fork() });
  }
  searchAll(texts, call, run);
  for (const text of texts) run.note(["code", text], supposed, true);
  if (/[\uFDD2-\uFDD6]/.test(call.stdin)) touchListed(null, call, run);
  noteWritten(words, call);
}

/** The work that such a program costs beyond that of a described one. */
const COST = 64;

/** The name of a program, or a path to one. */
const PROGRAM = /^[A-Za-z_./~][\w./+~-]*(?:[:#][\w.-]+)?$/;
const WHO = "gate does not know this program";

/** A part that may be anything may be code, or the name of any file. */
function doubtUnknown(argv: readonly string[], call: Call, run: Runner): void {
  const word = argv.find((one) => isWild(one) || MOVING.test(one));
  if (word !== undefined) {
    run.doubt(`${WHO}, and one of its words is unknown; write its value instead`, show(word), call);
  } else if (isWild(call.stdin)) {
    run.doubt(`${WHO}, and its input is unknown`, argv[0]!, call);
  }
  const encoded = argv.find(isEncoded) ??
    [call.stdin, ...argv].find((one) => /\s/.test(one) && ESCAPED.test(one));
  if (encoded !== undefined) run.doubt(`${WHO}, and a text of it is encoded`, encoded, call);
  const [first = "", ...more] = argv.slice(1).filter((one) => !one.startsWith("-"));
  if (first === "run" && more.some((one) => /^https?:/.test(one))) {
    run.doubt(`${WHO}, and it may run code from an address`, argv.join(" "), call);
  }
}

/** Paths that stand for another file in each process. */
const MOVING = /^\/(dev\/fd|proc)\//;

/** The escapes of letters, as some shells' `echo` reads them. */
const ESCAPED = /\\(0[0-7]{2,3}|x[0-9a-f]{2})/i;

/** Base64 of text in UTF-16, which PowerShell takes as its code. */
function isEncoded(word: string): boolean {
  if (!/^[A-Za-z0-9+/]{6,}={0,2}$/.test(word) || word.length % 4 !== 0) return false;
  const bytes = atob(word);
  return [...bytes].every((one, at) => (at % 2 === 1) === (one === "\0"));
}

/** Asks about words that may set what other programs the program starts. */
function doubtSettings(words: readonly string[], call: Call, run: Runner): void {
  const found = words.find((word, at) => {
    const before = words[at - 1] ?? "";
    return NAMES_PROGRAM.test(word) || (SETS.test(before) && KEY.test(word)) ||
      (SETS_ONE.test(before) && KEY.test(word) && word.includes("="));
  });
  if (found === undefined) return;
  run.doubt(`${WHO}, and this may set a program that it runs`, show(found), call);
}

const SETS_ONE = /^-c$/;
const SETS = /^(config|set|--(local|global|system|add))$/;
const KEY = /^[a-z][\w-]*(\.[\w*-]+)+(=|$)|^[\w-]*(shell|editor|pager|git)(=|$)/i;
const NAMES_PROGRAM =
  /^-{0,2}[\w.-]*(shell|pager|editor|hooks?-?path|upload-pack|receive-pack|config-env|template|fsmonitor)=|^--(git-dir|work-tree)\b/i;

/** Asks about files that the program may make in a folder, with the names that a glob finds. */
function touchCopied(words: readonly string[], call: Call, run: Runner): void {
  const [folder] = words.slice(-1).filter(isStatic);
  for (const word of folder === undefined ? [] : words.slice(0, -1)) {
    if (isStatic(word) || !isNamed(word)) continue;
    const path = `${folder}/${word.slice(word.lastIndexOf("/") + 1)}`;
    run.touch("write", path, call, { implied: true, guessed: true });
  }
}

/** Asks about options that may delete the words beside them, or the folder itself. */
function touchDeleted(words: readonly string[], call: Call, run: Runner): void {
  if (!words.some((word) => DELETES.test(word))) return;
  const named = words.filter((word) => isStatic(word) && !/^-|^$|\s/.test(word));
  for (const path of named.length > 0 ? named : ["."]) {
    run.touch("delete", path, call, { implied: true, guessed: true });
  }
}

/** A word of letters that are all options of `rm` or its like: `-rf`, and not `-format`. */
const DELETES = /^-{1,2}(delete|remove|purge|prune)$|^-(?=\w*[rR])(?=\w*f)[dfiImnPrRsvWxz]+$/;

/**
 * The words from a described program on as a command, with the items of the input as with `xargs`.
 * A file before it, or a placeholder in it, may fill in its words.
 */
function supposeCommand(words: readonly string[], at: number, call: Call, run: Runner): boolean {
  // A package, as in `npm:name` and `nixpkgs#name`, has the name of its program.
  const word = words[at]!;
  const name = /^[\w+.-]+[:#]([\w.-]+)$/.exec(word)?.[1] ?? word;
  if (!isProgram(name)) return false;
  const rest = words.slice(at + 1);
  const given = rest.filter((one) => !one.startsWith("-")).length;
  const fills = rest.length > 0 || words.slice(0, at).some((one) => /^\w[^=]*[./]/.test(one));
  const isOpen = (given === 0 && fills && isKnown(baseName(name))) ||
    given < (CHANGES[baseName(name)] ?? 0);
  if (isOpen || !isStatic(call.stdin) || rest.some((one) => PLACE.test(one))) {
    run.doubt(`${WHO}, which may fill in a command`, [name, ...rest].join(" "), call);
  }
  const items = isStatic(call.stdin) ? call.stdin.split(/\s+/).filter(Boolean) : [];
  for (const more of items.length > 0 ? [[], items.slice(0, LIMITS.items)] : [[]]) {
    const shell = call.shell.fork();
    const inner: Call = { ...call, supposed: true, guessed: "words", stdin: "", shell };
    run.command([name, ...rest.filter((one) => one !== "--"), ...more], inner);
  }
  return true;
}

/** A place that the program fills, and the sign before what it fills in. */
const PLACE = /\{\}|^:::/;

/** The fewest operands of programs that change files. */
const CHANGES: Record<string, number> = Object.fromEntries([
  ...["rm", "rmdir", "touch", "tee", "shred", "truncate"].map((name) => [name, 1]),
  ...["mv", "cp", "ln", "chmod", "chown"].map((name) => [name, 2]),
]);

/** Whether a word names a described program that is no part of the shell. */
function isProgram(word: string): boolean {
  const name = baseName(word);
  return isDescribed(name) && !Object.hasOwn(BUILTINS, name);
}

/** The texts that the program may run: words, values in words, its input, files that it names. */
function textsOf(words: readonly string[], call: Call, run: Runner): string[] {
  const found = words.flatMap((word) => [word, ...valuesIn(word)]);
  found.push(call.stdin);
  const script = words.find((word) => !/^[-+]/.test(word));
  for (const word of [...words, ...words.flatMap(valuesIn)]) {
    const content = isStatic(word) && word !== "" ? run.content(word, call) : null;
    if (content === null) continue;
    if (word === script && isWild(content)) {
      run.doubt(`${WHO}, nor the content of this file`, word, call);
    }
    found.push(content);
  }
  const texts = [...new Set(found)].filter((text) => /[\s(`'"|;&<>$!]/.test(text));
  const size = texts.reduce((sum, text) => sum + text.length, 0);
  if (texts.length > LIMITS.texts || size > LIMITS.code) {
    run.doubt(`${WHO}, and it has too much text`, texts[0]!.slice(0, 80), call);
  }
  return texts.slice(0, LIMITS.texts);
}

/** `--option=value`, `-xvalue`, `+value` and `name=value`. */
function valuesIn(word: string): string[] {
  const value = /^[\w.-]+=([\s\S]+)$/.exec(word)?.[1];
  const attached = /^(?:-\w|\+)([\s\S]+)$/.exec(word)?.[1];
  return [value, attached].filter((one) => one !== undefined);
}

function isCode(text: string): boolean {
  return /\S\s+\S|[`|;&<>$]/.test(text);
}

/** All languages, each once, without those whose commands are bare words. */
const ALL = [...new Map(Object.values(LANGUAGES).map((one) => [one.runs, one])).values()]
  .filter((one) => !one.shell_like);

/** Commands of PowerShell, and awk's pipes. */
const OTHERS =
  /\b(invoke|start|remove|clear|set|move|rename|new|stop|format|restart|disable|unregister|add)-[a-z]{3,}|\b(iex|iwr|irm)\b|\|\s*"|>\s*\$\d|\|&?\s*getline/i;

/** Searches texts for calls that run programs or change files, in every language. */
function searchAll(texts: readonly string[], call: Call, run: Runner): void {
  const code = texts.join("\n").slice(0, LIMITS.code);
  if (code === "" || isWild(code)) return;
  for (const language of ALL) searchCode(code, language, { ...call, stdin: "" }, run);
  const tokens = wordsIn(code);
  const at = tokens.findIndex(({ word }, at) =>
    tokens.slice(at + 1, at + 3).some((next) => next.word.startsWith("-")) &&
    (isProgram(word) || (tokens[at]!.begins && /^[a-z][\w.-]*$/.test(word)))
  );
  if (at < 0 && !OTHERS.test(code)) return;
  const part = tokens.slice(Math.max(at, 0), at + 4).map(({ word }) => word).join(" ");
  run.doubt(`${WHO}, and this text of it may be a command`, part, call);
}

/** The program may have written any file that it names, and the last name in an address. */
function noteWritten(words: readonly string[], { shell }: Call): void {
  for (const word of words) {
    const name = /^\w+:\/\/.*?([^/?#]+)(?:[?#].*)?$/.exec(word)?.[1] ?? word;
    if (!isStatic(name) || !/^[\w./~@%+:-]+$/.test(name) || name.startsWith("-")) continue;
    const path = absolutePath(name, shell.cwd);
    shell.files.set(path, `${shell.files.get(path) ?? ""}${ANY}`);
  }
}
