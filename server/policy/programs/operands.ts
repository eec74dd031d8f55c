import { ANY, isStatic, isWild } from "../holes.ts";
import type { Call, Runner } from "../interpret/call.ts";
import type { Effect } from "../interpret/unit.ts";
import { readOptions } from "./options.ts";
import { mayWriteOutside } from "./outside_words.ts";
import type { Row } from "./record.ts";

/** Options whose value is a pattern. */
const TEXTS =
  /^--?(in|ex)clude(-dir)?$|^--i?glob$|^--(ignore|[a-z-]*skip[a-z-]*)(-pattern|-glob)?$|^--(regexp|pattern|filter)$/;

/** Further ones of programs that search. */
const SEARCHED = /^--(header|replace|type|type-add|lang|language)$|^-[egImSGHnk]$/;

/** Whether the first operand is a pattern or a program in the program's own language. */
const PATTERN = /^([efz]|ri?p)?grep$|^(ggrep|rg|ag|ack|jq|yq|gojq|ast-grep|sd)$/;

/** Options with inline code. */
const CODE = /^(-[a-zA-Z]*[cepr]|--(eval|print|execute|command|code|run))$/;

/**
 * Records the files that the words of a program may name, although its row does not say so: operands,
 * `--option=value`, `-oVALUE`, `name=value`, `name:value` and `@value`.
 */
export function touchWords(
  name: string,
  args: readonly string[],
  call: Call,
  run: Runner,
  row?: Row | null,
  isDescribed = true,
): void {
  if (call.remote || call.supposed || (isDescribed && row?.words === "text")) return;
  const searches = PATTERN.test(name);
  // Of other files such a program may read the content, as `du -X` does.
  const operands = isDescribed && row?.reveals ? readOptions(args, row.grammar).operands : null;
  const isText = (option: string) => TEXTS.test(option) || (searches && SEARCHED.test(option));
  let pattern = searches;
  if (args.some((arg) => /^(-[a-zA-Z]*[ef]|--(regexp|file|from-file)(=.*)?)$/.test(arg))) {
    pattern = false;
  }
  for (const [at, word] of args.entries()) {
    const before = args[at - 1] ?? "";
    if (!isDescribed) {
      touchAny(word, call, run);
      continue;
    }
    const isOption = word.startsWith("-");
    const isValue = before.startsWith("-");
    if (pattern && !isOption && !(isValue && isText(before))) {
      pattern = false;
      continue;
    }
    if (isValue && (isText(before) || (CODE.test(before) && /[("'`;$]/.test(word)))) continue;
    if (isOption && word.includes("=") && isText(/^--[\w-]+(?==)/.exec(word)?.[0] ?? "")) continue;
    const explained = isExplained(word, before, row);
    const isOperand = operands === null || operands.includes(word);
    if (!explained || !row?.reveals || !isOperand) {
      const undescribed = !explained && mayWriteOutside(name, args, at, row);
      touchWord(word, call, run, { unexplained: !explained, undescribed });
    }
  }
}

/** Whether a row says that this word is only read. */
function isExplained(word: string, before: string, row: Row | null | undefined): boolean {
  if (!row || word.startsWith("-") || !/^(reads|pattern)$/.test(row.operands)) return false;
  // An unknown long option may take the word as its output file.
  if (!before.startsWith("--") || before === "--" || before.includes("=")) return true;
  return row.grammar.long.has(before.slice(2));
}

/** Records the files that one word may name; the program reads them, and may write them as well. */
export function touchWord(
  word: string,
  call: Call,
  run: Runner,
  { unexplained = true, undescribed = false } = {},
): void {
  const how = { implied: true, unexplained, undescribed };
  for (const path of namesIn(word)) run.touch("read", path, call, how);
}

/** A word of a program that no table describes: it may write any file, wherever it is. */
function touchAny(word: string, call: Call, run: Runner): void {
  const how = { implied: true, unexplained: true, undescribed: true };
  const names = isStatic(word) || word.startsWith("-") ? namesIn(word) : [word];
  if (/(^|[=:,])\.\.$/.test(word)) names.push("..");
  for (const path of names) run.touch("read", path, call, how);
  // Without a file of that name it is only a word, such as the scope of a package.
  if (isArgumentFile(word)) touchArguments(word.slice(1), call, run);
}

/** Whether a word stands for the arguments in a file, as many programs read it. */
export function isArgumentFile(word: string): boolean {
  return /^@./.test(word) && isStatic(word);
}

/** Records reads of the files that the arguments in a file may name; in the input for `-`. */
export function touchArguments(path: string | null, call: Call, run: Runner): void {
  const isInput = path === null || path === "-";
  const text = isInput ? call.stdin : run.content(path, call);
  if (!isInput) run.touch("read", path, call, { implied: true });
  if (text === null) {
    const holds = { as: "arguments", program: "" } as const;
    run.touch("read", path!, call, { implied: true, holds });
  } else {
    for (const one of namesInArguments(text)) run.touch("read", one, call, { implied: true });
  }
}

/** The files that arguments may name; any file if they name further arguments. */
export function namesInArguments(text: string): string[] {
  if (isWild(text)) return [ANY];
  const words = text.split(/\s+/).map((word) => word.replace(/["'\\]/g, "")).filter(Boolean);
  return words.flatMap((word) =>
    isArgumentFile(word) || MORE.test(word) ? [ANY] : [word, ...namesIn(word)]
  );
}

/** Options that name a further file of arguments. */
const MORE = /^(-K|-{0,2}config(=.*)?)$/;

const MOST_ITEMS = 64;

/**
 * Records reads of the files that a list names: the file of an option, or the input without one or
 * for `-`. Names start in each of `starts`.
 */
export function touchListed(
  list: string | null,
  call: Call,
  run: Runner,
  { starts = [""], ...how }: Partial<Effect> & { starts?: readonly string[] } = {},
): void {
  const isInput = list === null || list === "-";
  const text = isInput ? call.stdin : run.content(list, call);
  if (text === null) {
    const holds = { as: "names", program: "", starts } as const;
    run.touch("read", list!, call, { implied: true, ...how, holds });
    return;
  }
  const names = isWild(text) ? [ANY] : namesInList(text);
  for (const name of names.length > MOST_ITEMS ? [ANY] : names) {
    for (const start of name === ANY ? [""] : starts) {
      run.touch("read", `${start}${name}`, call, { implied: true, ...how });
    }
  }
}

/** The names in a list, one a line or between zero bytes, perhaps with a checksum. */
export function namesInList(text: string): string[] {
  return text.split(/[\0\n]/).filter(Boolean).flatMap((line) => {
    const [, plain, tagged] = CHECKSUM.exec(line) ?? [];
    return plain === undefined && tagged === undefined ? [line] : [line, (plain ?? tagged)!];
  });
}

/** `d41d8…  name` and `MD5 (name) = d41d8…`. */
const CHECKSUM = /^\\?(?:[0-9a-f]{8,}|\d+ \d+) [ *]?(.+)$|^[\w-]+ ?\((.+)\) ?= ?\S+$/i;

/** Records that a program runs code of its own language from a file. */
export function touchCode(program: string, path: string, call: Call, run: Runner): void {
  run.touch("read", path, call);
  if (path !== "-" && run.content(path, call) === null) {
    run.touch("read", path, call, { implied: true, holds: { as: "code", program } });
  }
}

/**
 * `-i.bak`, of sed and perl: the old content gets another name. In the suffix a star stands for the
 * name of the file, and slashes lead to another folder.
 */
export function touchBackups(
  suffix: string,
  files: readonly string[],
  call: Call,
  run: Runner,
): void {
  for (const path of suffix === "" ? [] : files) {
    const at = path.lastIndexOf("/") + 1;
    const name = path.slice(at);
    const backup = suffix.includes("*") ? suffix.replaceAll("*", name) : `${name}${suffix}`;
    run.touch("write", backup.includes("/") ? backup : `${path.slice(0, at)}${backup}`, call);
  }
}

const ADDRESS = /^(?:-{0,2}[\w-]*=?)?(?:[a-z]\w*:)?(fileb?):(?:\/\/)?(.*)$/is;

/** The files that an address of files may name: `file:///a%20b`, with a host, or relative to here. */
function filesOfAddress(address: string): string[] {
  const globbed = decode(address).replace(/\{[^{}]*\}|\[[^[\]]*\]/g, ANY);
  const at = globbed.indexOf("/");
  return at < 0 ? [globbed] : [globbed, globbed.slice(at)];
}

/** The text with its percent escapes decoded; unknown if it has invalid ones. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return ANY;
  }
}

/** A path with blanks, not a sentence that mentions one. */
const BLANK_PATH = /^[.~]{0,2}\/|\/\.\.\//;

/** A word that can name only itself. */
const ONE_NAME = /^[\w.\/][\w.\/-]*$/;

/** Letters after one dash, or a long option without a value. */
const PLAIN_OPTION = /^-(?:\w+|-[\w-]*)$/;

function namesIn(word: string): string[] {
  if (ONE_NAME.test(word)) return word.length <= 1_024 && /[^\d.]/.test(word) ? [word] : [];
  if (PLAIN_OPTION.test(word)) {
    const name = word.length <= 1_024 && !word.startsWith("--") ? word.slice(2) : "";
    return /[^\d.]/.test(name) ? [name] : [];
  }
  if (!isStatic(word) || word.length > 1_024 || /^-?\d*$|^--?$/.test(word)) return [];
  if (/\s/.test(word)) return BLANK_PATH.test(word) ? [word] : [];
  const file = ADDRESS.exec(word)?.[2];
  if (file !== undefined) return filesOfAddress(file);
  if (/^-?-?[\w-]*=?\w+:\/\//.test(word)) return [];
  const names: string[] = [];
  let rest = word;
  if (word.startsWith("--")) {
    const at = word.indexOf("=");
    if (at < 0) return [];
    rest = word.slice(at + 1);
  } else if (word.startsWith("-")) {
    names.push(word.slice(2));
    rest = /[./~@=].*$/.exec(word.slice(1))?.[0] ?? "";
  }
  names.push(rest);
  const parts = rest.split(/[=:,@]/).slice(0, MOST_ITEMS);
  for (const part of parts) names.push(part.replace(/^[@<+]+/, ""));
  return [...new Set(names)].filter((name) => /[^\d.]/.test(name));
}
