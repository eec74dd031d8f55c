import { isStatic } from "../holes.ts";
import type { Call, Runner } from "../interpret/call.ts";
import type { Row } from "./record.ts";

/** Programs whose words are text: they open none of them. */
const TALKERS = new Set(
  ("echo printf logger notify-send say basename dirname seq expr tr sleep which whereis type pwd kill pkill killall true " +
    "false test [ cowsay figlet lolcat banner yes export id whoami uname ping host dig nslookup sed gsed awk gawk mawk nawk " +
    "find gfind fd fdfind xargs gxargs parallel ssh nix hub setarch capsh at batch cmd schtasks schtasks.exe gh glab " +
    "tput stty clear reset apropos whatis systemctl service git mkdir rmdir rm").split(" "),
);

/** Options whose value is a text or a pattern. */
const TEXTS =
  /^--?(in|ex)clude(-dir)?$|^--i?glob$|^--(ignore|[a-z-]*skip[a-z-]*)(-pattern|-glob)?$|^--(regexp|pattern|message|author|title|body|subject|grep|header|format|pretty|filter|name|type-add|replace|type|lang|language|jsonpath)$|^-[egImSGHnk]$/;

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
  if (call.remote || call.supposed || (isDescribed && TALKERS.has(name))) return;
  let pattern = PATTERN.test(name);
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
    if (pattern && !isOption && !TEXTS.test(before)) {
      pattern = false;
      continue;
    }
    if (TEXTS.test(before) || (CODE.test(before) && /[("'`;$]/.test(word))) continue;
    if (isOption && TEXTS.test(/^--[\w-]+(?==)/.exec(word)?.[0] ?? "")) continue;
    const explained = isExplained(word, before, row);
    if (!explained || !row?.reveals) touchWord(word, call, run, !explained);
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
export function touchWord(word: string, call: Call, run: Runner, unexplained = true): void {
  for (const path of namesIn(word)) run.touch("read", path, call, { implied: true, unexplained });
}

/** A word of a program that no table describes: it may write any file, wherever it is. */
function touchAny(word: string, call: Call, run: Runner): void {
  const how = { implied: true, unexplained: true, undescribed: true };
  const whole = word.startsWith("-") || (isStatic(word) && !/^[.~]{0,2}\/.*\s/.test(word));
  const names = whole ? namesIn(word) : [word];
  for (const path of names) run.touch("read", path, call, how);
}

function namesIn(word: string): string[] {
  if (!isStatic(word) || word.length > 1_024 || /\s/.test(word) || /^-?\d*$|^--?$/.test(word)) {
    return [];
  }
  const file = /^file:\/\/(?:localhost)?(\/.*)$/.exec(word)?.[1];
  if (file !== undefined) return [file];
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
  for (const part of rest.split(/[=:,]/).slice(0, 8)) names.push(part.replace(/^[@<+]+/, ""));
  return [...new Set(names)].filter((name) => /[^\d.]/.test(name));
}
