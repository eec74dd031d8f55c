import { ANY, DEEP, isStatic, isWild, STAR, TAME } from "../holes.ts";
import type { Call, Handler } from "../interpret/call.ts";
import { has, readOptions, spec, valuesOf } from "./options.ts";
import { sedText } from "./sed.ts";

/** The output of programs that transform text; a command may hide code in such a pipeline. */
export const OUTPUTS: Record<string, Handler> = {
  echo: (argv, call) => {
    const flags = argv.slice(1).findIndex((arg) => !/^-[neE]+$/.test(arg));
    const from = flags < 0 ? argv.length : flags + 1;
    const options = argv.slice(1, from).join("");
    const text = argv.slice(from).join(" ");
    // dash and zsh decode these without being asked to.
    if (!options.includes("e") && /\\[0-7abcefnrtuvxEU]/.test(text)) {
      return text.length < 80 || /^[\w./\\~-]*$/.test(text)
        ? ANY
        : `${text}\n${unescapeBytes(text)}\n`;
    }
    if (call.shell.plain && text.includes("\\")) return ANY;
    return (options.includes("e") ? unescapeBytes(text) : text) +
      (options.includes("n") ? "" : "\n");
  },
  printf: (argv) => formatPrintf(argv[1] === "--" ? argv.slice(2) : argv.slice(1)),
  cat: (argv, call, run) => inputs(argv, call, run, spec("-A -b -e -E -n -s -t -T -u -v")),
  tac: (argv, call, run) => lines(inputs(argv, call, run), (all) => all.reverse()),
  rev: (argv, call, run) =>
    lines(inputs(argv, call, run), (all) => all.map((line) => [...line].reverse().join(""))),
  sort: (argv, call, run) => {
    const parsed = readOptions(argv.slice(1), SORT);
    const text = inputs(argv, call, run, SORT);
    const plain = parsed.options.every(({ name }) => name === "r" || name === "u");
    return plain
      ? lines(text, (all) => has(parsed, "r") ? all.sort().reverse() : all.sort())
      : orderless(text);
  },
  uniq: (argv, call, run) =>
    argv.length === 1
      ? lines(inputs(argv, call, run), (all) => all.filter((line, at) => line !== all[at - 1]))
      : ANY,
  head: (argv, call, run) => ends(argv, call, run, true),
  tail: (argv, call, run) => ends(argv, call, run, false),
  tr: (argv, call) => translate(argv, call.stdin),
  sed: (argv, call) => sedText(argv, call.stdin),
  base64: (argv, call, run) => base64(argv, inputs(argv, call, run, BASE64)),
  xxd: (argv, call, run) => {
    const parsed = readOptions(argv.slice(1), XXD);
    const text = inputs(argv, call, run, XXD);
    return has(parsed, "r") && has(parsed, "p") && isStatic(text) ? fromHex(text) : ANY;
  },
  tee: (argv, call) => argv.length > 0 ? call.stdin : "",
  date: (argv) =>
    argv.slice(1).filter((arg) => arg.startsWith("+")).map((format) =>
      format.slice(1).replace(/%[-_0^#]*\d*[A-Za-z%]/g, TAME)
    ).join("") + (argv.some((arg) => arg.startsWith("+")) ? "\n" : `${TAME} ${TAME}\n`),
  basename: (argv) => `${names(argv[1] ?? "").at(-1) ?? ""}\n`,
  dirname: (argv) => `${names(argv[1] ?? "").slice(0, -1).join("/") || "."}\n`,
  seq: (argv) => argv.length > 1 ? `${TAME}\n` : "",
  nproc: () => `${TAME}\n`,
  whoami: () => `${TAME}\n`,
  hostname: () => `${TAME}\n`,
  uname: () => `${TAME}\n`,
  id: () => `${TAME}\n`,
  arch: () => `${TAME}\n`,
  wc: () => `${TAME}\n`,
  yes: (argv) => `${argv.slice(1).join(" ") || "y"}\n`,
  "ssh-agent": () => SHELL_SETUP,
  dircolors: () => SHELL_SETUP,
  brew: (argv) => argv[1] === "shellenv" ? SHELL_SETUP : ANY,
  opam: (argv) => argv[1] === "env" ? SHELL_SETUP : ANY,
  ls: (argv) => {
    const named = argv.slice(1).filter((arg) => !arg.startsWith("-"));
    if (argv.some((arg) => /^(-[a-zA-Z]*[aA]|--(almost-)?all)/.test(arg))) return `${ANY}\n`;
    const globs = named.filter((arg) => /[*?\uFDD4-\uFDD6]/.test(arg));
    return `${
      globs.length === named.length && named.length > 0
        ? globs.join("\n")
        : named.length > 0
        ? DEEP
        : STAR
    }\n`;
  },
  grep: searched,
  egrep: searched,
  rg: searched,
  which: (argv, { shell }) =>
    // zsh prints the text of an alias or a function.
    shell.aliases.size + shell.functions.size > 0 || !argv.slice(1).every(isProgramName)
      ? ANY
      : argv.slice(1).map((name) => `/usr/bin/${name}\n`).join(""),
};

/** The harmless settings that well-known programs print for `eval`. */
const SHELL_SETUP = ":\n";

const SORT = spec("-r,--reverse -u,--unique -k= -t= -o,--output= -S= -T=");
const BASE64 = spec("-d,-D,--decode -i,--ignore-garbage -w,--wrap=");
const XXD = spec("-r -p,-ps,-plain,-postscript -c= -g= -l= -s= -o= -u -b -e -i", { single: true });

/** The content of the named files, or else the input. */
function isProgramName(word: string): boolean {
  return /^[\w.+-]+$/.test(word) && !word.startsWith("-");
}

function inputs(
  argv: readonly string[],
  call: Call,
  run: Parameters<Handler>[2],
  grammar = spec(""),
): string {
  const { operands } = readOptions(argv.slice(1), grammar);
  if (operands.length === 0) return call.stdin;
  return operands.map((path) => path === "-" ? call.stdin : run.content(path, call) ?? ANY).join(
    "",
  );
}

/** `grep -l` prints file names; otherwise grep prints some of its input lines. */
function searched(argv: readonly string[], call: Call): string {
  const flags = argv.slice(1).filter((arg) => /^-[a-zA-Z]+$/.test(arg)).join("");
  if (flags.includes("c") && !/[rRH]/.test(flags)) return `${TAME}\n`;
  if (!/[lL]/.test(flags) && !argv.includes("--files-with-matches")) return passed(call.stdin);
  const files = argv.slice(1).filter((arg) => !arg.startsWith("-")).slice(1);
  return files.length > 0 && !/[rR]/.test(flags) ? `${files.join("\n")}\n` : `${DEEP}\n`;
}

/** The output of a filter: some lines of its input, if those are names of files. */
function passed(text: string): string {
  return isStatic(text) || isWild(text) ? ANY : text;
}

function lines(text: string, change: (all: string[]) => string[]): string {
  if (isWild(text)) return ANY;
  if (text === "") return "";
  return `${change(text.replace(/\n$/, "").split("\n")).join("\n")}\n`;
}

function orderless(text: string): string {
  return isWild(text) || text.split("\n").length > 2 ? ANY : text;
}

const ENDS = spec("-n,--lines= -c,--bytes= -q,--quiet -v -f -F");

function ends(
  argv: readonly string[],
  call: Call,
  run: Parameters<Handler>[2],
  front: boolean,
): string {
  const short = argv.map((arg) => /^-(\d+)$/.exec(arg)?.[1]).find(Boolean);
  const rest = argv.filter((arg) => !/^-\d+$/.test(arg));
  const parsed = readOptions(rest.slice(1), ENDS);
  const count = short ?? valuesOf(parsed, "lines")[0] ?? "10";
  const text = inputs(rest, call, run, ENDS);
  if (!isStatic(text) && !isWild(text)) return text;
  if (has(parsed, "bytes") || !/^\d+$/.test(count)) return ANY;
  const most = Number(count);
  return lines(
    text,
    (all) => front ? all.slice(0, most) : all.slice(Math.max(0, all.length - most)),
  );
}

function names(path: string): string[] {
  return path.replace(/\/+$/, "").split("/");
}

function base64(argv: readonly string[], text: string): string {
  const decode = has(readOptions(argv.slice(1), BASE64), "decode");
  if (!isStatic(text)) return ANY;
  try {
    return decode ? fromBytes(atob(text.replace(/\s/g, ""))) : `${btoa(text)}\n`;
  } catch {
    return ANY;
  }
}

function fromHex(text: string): string {
  const digits = text.replace(/\s/g, "");
  const bytes = digits.match(/[0-9a-fA-F]{2}/g) ?? [];
  return fromBytes(
    String.fromCharCode(...bytes.slice(0, 32_768).map((byte) => parseInt(byte, 16))),
  );
}

function fromBytes(binary: string): string {
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

const TR = spec("-d,--delete -s,--squeeze-repeats -c,-C,--complement -t");

/** `tr` with ranges and the common classes. */
function translate(argv: readonly string[], text: string): string {
  const parsed = readOptions(argv.slice(1), TR);
  const [from = "", to = ""] = parsed.operands.map(trSet);
  if (isWild(text) || !isStatic(from + to) || has(parsed, "complement")) return ANY;
  if (has(parsed, "delete")) return [...text].filter((char) => !from.includes(char)).join("");
  if (to === "") return text;
  const table = new Map<string, string>();
  let at = 0;
  for (const char of from) table.set(char, to[Math.min(at++, to.length - 1)]!);
  let changed = "";
  for (const char of text) changed += table.get(char) ?? char;
  return changed;
}

const CLASSES: Record<string, string> = {
  "[:upper:]": "A-Z",
  "[:lower:]": "a-z",
  "[:digit:]": "0-9",
  "[:alpha:]": "A-Za-z",
  "[:alnum:]": "A-Za-z0-9",
  "[:space:]": " \t\n\r\f\v",
  "[:blank:]": " \t",
};

function trSet(written: string): string {
  const plain = unescape(written.replace(/\[:\w+:\]/g, (name) => CLASSES[name] ?? name));
  return plain.replace(/([\s\S])-([\s\S])/g, (_all, first: string, last: string) => {
    const [a, b] = [first.charCodeAt(0), last.charCodeAt(0)];
    if (b < a || b - a > 255) return `${first}-${last}`;
    let range = "";
    for (let code = a; code <= b; code++) range += String.fromCharCode(code);
    return range;
  });
}

const SIMPLE: Record<string, string> = {
  n: "\n",
  t: "\t",
  r: "\r",
  a: "\x07",
  b: "\b",
  e: "\x1b",
  E: "\x1b",
  f: "\f",
  v: "\v",
  "\\": "\\",
  "'": "'",
  '"': '"',
};

const BYTE_RUNS =
  /((?:\\(?:x[0-9a-fA-F]{1,2}|0?[0-7]{1,3}))+)|\\(?:u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[\s\S])/g;

/** As `unescape`, where adjacent bytes are one text in UTF-8, as `echo -e` and `printf` write them. */
function unescapeBytes(text: string): string {
  if (!text.includes("\\")) return text;
  return text.replace(
    BYTE_RUNS,
    (all, run) => run === undefined ? unescape(all) : fromBytes(unescape(run)),
  );
}

/** Replaces backslash escapes as `echo -e`, `printf` and `tr` do. A byte is the character of its number. */
function unescape(text: string): string {
  if (!text.includes("\\")) return text;
  return text.replace(
    /\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|0?([0-7]{1,3})|([\s\S]))/g,
    (all, hex, short, long, octal, other) => {
      if (other !== undefined) return SIMPLE[other] ?? all;
      const code = octal === undefined ? parseInt(hex ?? short ?? long, 16) : parseInt(octal, 8);
      return code > 0x10ffff ? all : String.fromCodePoint(code);
    },
  );
}

const DIRECTIVE = /%(%|[-+ 0#']*(?:\d+|\*)?(?:\.(?:\d+|\*)?)?([diouxXeEfFgGaAcsbqQ]|\([^)]*\)T))/g;

/** `printf`: repeats the format until all arguments are used. */
function formatPrintf(args: readonly string[]): string {
  const [format = "", ...values] = args;
  const takes = [...format.matchAll(DIRECTIVE)].filter((one) => one[1] !== "%").length;
  let printed = "";
  const queue = [...values];
  do {
    printed += once(format, queue);
  } while (takes > 0 && queue.length > 0 && printed.length < 65_536);
  return printed;
}

function once(format: string, queue: string[]): string {
  let printed = "";
  let last = 0;
  for (const found of format.matchAll(DIRECTIVE)) {
    printed += unescapeBytes(format.slice(last, found.index));
    last = found.index + found[0].length;
    if (found[1] === "%") printed += "%";
    else printed += convert(found[2]!, queue.shift() ?? "");
  }
  return printed + unescapeBytes(format.slice(last));
}

function convert(kind: string, value: string): string {
  if (kind === "s" || kind === "q" || kind === "Q") return value;
  if (kind === "b") return unescapeBytes(value);
  if (kind === "c") return isStatic(value) ? value.slice(0, 1) : value;
  if (/^[diu]$/.test(kind) && /^\d+$/.test(value)) return value;
  return TAME;
}
