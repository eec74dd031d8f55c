import { ANY, isSeveral, isStatic, isWild, SPLIT, TAME } from "../holes.ts";
import type { Call, Handler, Runner } from "./call.ts";
import { checkVariable, isReadByPrograms } from "../programs/environment.ts";
import { forNames, has, readOptions, spec, valuesOf } from "../programs/options.ts";
import { OUTPUTS } from "../programs/outputs.ts";
import { absolutePath } from "./state.ts";
import { runFile } from "../programs/scripts.ts";

/** A command of the shell itself. `passive`: no allow rule has to name it. */
export interface Builtin {
  passive: boolean;
  run: Handler;
}

const nothing: Handler = () => "";
const passive = (run: Handler): Builtin => ({ passive: true, run });
const active = (run: Handler): Builtin => ({ passive: false, run });

/** The builtins of the shell, one row each. */
export const BUILTINS: Record<string, Builtin> = {
  ...forNames(
    ": true false exit return break continue jobs fg bg disown umask ulimit times",
    passive(nothing),
  ),
  hash: passive(changes((arg) => isWild(arg) || arg.includes("=") || /^-\w*p/.test(arg))),
  unalias: passive(changes((arg) => arg !== "unalias")),
  wait: passive((argv, call, run) => {
    for (const name of valuesOf(readOptions(argv.slice(1), spec("-n -f -p=")), "p")) {
      checkName(name, call, run);
    }
    return "";
  }),
  shopt: passive(shopt),
  setopt: passive(shopt),
  unsetopt: passive(shopt),
  emulate: active(changes(() => true)),
  getopts: passive((argv, call, run) => {
    checkName(argv[2] ?? "", call, run);
    return assignAll([argv[2] ?? "opt"], call);
  }),
  echo: passive(OUTPUTS.echo!),
  pwd: passive((_argv, { shell }) => `${shell.cwd}\n`),
  printf: passive(printf),
  cd: passive(changeFolder),
  pushd: passive(changeFolder),
  popd: passive((_argv, { shell }) => {
    const folder = shell.folders.at(-1) ?? ANY;
    shell.folders = shell.folders.slice(0, -1);
    return move(folder, shell);
  }),
  eval: active((argv, call, run) => run.code(afterDashes(argv).join(" "), call)),
  source: active(source),
  ".": active(source),
  ...forNames("export declare typeset local readonly integer float", passive(declare)),
  read: passive(read),
  mapfile: passive(mapfile),
  readarray: passive(mapfile),
  set: passive(setArguments),
  shift: passive((argv, call, run) => {
    const { shell } = call;
    const [count = "1", ...more] = argv.slice(1);
    if (!/^\d+$/.test(count) || more.length > 0) changed(argv, call, run);
    // It fails beyond the last word, and most shells then keep all of them.
    if (shell.positional.slice(0, Number(count)).some(isSeveral)) shell.positional = [SPLIT];
    else if (Number(count) <= shell.positional.length) {
      shell.positional = shell.positional.slice(Number(count));
    }
    return "";
  }),
  unset: passive(unset),
  history: passive((argv, call, run) => {
    const at = argv.findIndex((arg) => /^-\w*[warn]/.test(arg));
    const path = argv[at + 1] ?? call.shell.variables.get("HISTFILE")?.values[0];
    if (at > 0 && path !== undefined) {
      run.touch(/[wa]/.test(argv[at]!) ? "write" : "read", path, call);
    }
    return ANY;
  }),
  alias: passive(alias),
  trap: active(trap),
  test: passive(test),
  "[": passive(test),
  let: passive((argv, call, run) => {
    for (const text of argv.slice(1)) {
      evaluate(text, call, run);
      for (const [name] of text.matchAll(/[A-Za-z_]\w*/g)) call.shell.assign(name, [TAME]);
    }
    return "";
  }),
  enable: active(changes((arg) => isWild(arg) || !/^(enable|-[aps]+)$/.test(arg))),
  bind: active(codeOption("-x=")),
  complete: active(codeOption("-C= -F=")),
  compgen: active(codeOption("-C= -F= -W=")),
};

/** Options of the shell that change no meaning that matters here. */
const HARMLESS_OPTIONS =
  /^(-[supqo]+|dotglob|nullglob|globstar|failglob|extglob|nocaseglob|nocasematch|inherit_errexit|checkwinsize|cmdhist|histappend|autocd|globdots|errexit|nounset|pipefail|xtrace|verbose|noglob|noclobber|errtrace|functrace|monitor|notify|allexport|noexec|err_?exit|no_?unset|pipe_?fail|glob_?dots|null_?glob|no_?nomatch|nomatch)$/i;

/** `dotglob` and similar options; once on, they count as on. */
function shopt(argv: readonly string[], call: Call, run: Runner): string {
  const { shell } = call;
  shell.dotted ||= argv.slice(1).some((arg) => isWild(arg) || /^(dotglob|glob_?dots)$/i.test(arg));
  if (!argv.slice(1).every((arg) => HARMLESS_OPTIONS.test(arg))) changed(argv, call, run);
  return "";
}

function changed(argv: readonly string[], call: Call, run: Runner): void {
  run.doubt("this changes the meaning of the commands after it", argv.join(" "), call);
}

/** A builtin that changes the meaning of later commands if one of its words does. */
function changes(matters: (word: string) => boolean): Handler {
  return (argv, call, run) => {
    if (argv.some(matters)) changed(argv, call, run);
    return "";
  };
}

function afterDashes(argv: readonly string[]): readonly string[] {
  return argv[1] === "--" ? argv.slice(2) : argv.slice(1);
}

function changeFolder(argv: readonly string[], { shell }: Call): string {
  const [target, ...more] = argv.slice(1).filter((arg) => !/^(-[LPe@n]+|--)$/.test(arg));
  // zsh replaces one text by another in the name of the folder, or counts in its list of folders.
  if (more.length > 0 || /^[-+]\d/.test(target ?? "")) return move(ANY, shell);
  if (argv[0] === "pushd") shell.folders = [...shell.folders, shell.cwd];
  // The folder is then named without links, and the text does not show where they lead.
  if (argv.slice(1).some((arg) => /^-[Le@n]*P/.test(arg))) return move(ANY, shell);
  if (target === undefined) return move(shell.valuesOf("HOME")[0]!, shell);
  if (target === "-") return move(shell.valuesOf("OLDPWD")[0]!, shell);
  const from = shell.cwd;
  const printed = move(target, shell);
  searchFolders(target, from, shell);
  return printed;
}

/** With CDPATH the shell looks for a folder of that name in other folders first. */
function searchFolders(target: string, from: string, shell: Call["shell"]): void {
  const values = ["CDPATH", "cdpath"].flatMap((name) => shell.variables.get(name)?.values ?? []);
  if (/^(\/|\.\.?(\/|$))/.test(target)) return;
  for (const entry of values.flatMap((value) => value.split(":"))) {
    if (entry === "" || entry === ".") continue;
    const folder = isWild(entry)
      ? `/${ANY}`
      : absolutePath(`${absolutePath(entry, from)}/${target}`, from);
    shell.otherFolders = [...new Set([...shell.otherFolders, folder])].slice(-4);
  }
}

function move(target: string, shell: Call["shell"]): string {
  const from = shell.cwd;
  shell.cwd = isWild(target) && !target.startsWith("/") && !isUnder(target)
    ? `/${ANY}`
    : absolutePath(target, from);
  shell.assign("OLDPWD", [from]);
  shell.previous = from;
  return "";
}

function isUnder(target: string): boolean {
  return /^[^\uFDD0\uFDD1]+\//.test(target);
}

function source(argv: readonly string[], call: Call, run: Runner): string {
  const [path, ...positional] = afterDashes(argv);
  if (path === undefined) return "";
  const before = call.shell.positional;
  if (positional.length > 0) call.shell.positional = positional;
  const printed = runFile(path, call, run, positional);
  call.shell.positional = before;
  return printed;
}

function declare(argv: readonly string[], call: Call, run: Runner): string {
  const flags = argv.slice(1).filter((arg) => /^[-+][a-zA-Z]+\d*$/.test(arg)).join("") +
    (/^(integer|float)$/.test(argv[0]!) ? "i" : "");
  if (/-\w*n/.test(flags) && argv[0] !== "export") changed(argv, call, run);
  // They change each value that the variable gets later, or tie it to another one.
  if (/[^-+aAgirxnfFpIEt]/.test(flags)) changed(argv, call, run);
  const isNumber = /[iEF]/.test(flags) && !flags.includes("f");
  for (const arg of argv.slice(1)) {
    const found = /^(\w+)(?:\[(.*?)\])?(\+?)=([\s\S]*)$/.exec(arg);
    const given0 = found?.[1] ?? arg;
    if (isNumber && /^\w+$/.test(given0)) {
      call.shell.numbers.set(given0, true);
      for (const value of call.shell.variables.get(given0)?.values ?? []) {
        run.reevaluate(value, call);
      }
    }
    if (!found) {
      if (arg.includes("[")) evaluateName(arg, call, run);
      if (flags.includes("n")) call.shell.assign(arg, [ANY]);
      continue;
    }
    const [, name, index, append, given] = found;
    if (index !== undefined) evaluate(index, call, run);
    if (isNumber) evaluate(given!, call, run);
    if (flags.includes("n")) run.reevaluate(given!, call);
    const value = flags.includes("l")
      ? given!.toLowerCase()
      : flags.includes("u")
      ? given!.toUpperCase()
      : given!;
    checkVariable(name!, value, call, run);
    const old = append ? call.shell.valuesOf(name!) : [""];
    call.shell.assign(name!, flags.includes("n") ? [ANY] : old.map((one) => one + value));
  }
  return "";
}

const READ = spec("-r -e -s -a= -d= -i= -n= -N= -p= -t= -u= -E");

function read(argv: readonly string[], call: Call, run: Runner): string {
  const parsed = readOptions(argv.slice(1), READ);
  for (const name of [...parsed.operands, ...valuesOf(parsed, "a")]) checkName(name, call, run);
  // In a loop each call reads another line, so every line is possible.
  const all = call.stdin.replace(/\n$/, "").split("\n");
  const [separators, ...more] = call.shell.valuesOf("IFS");
  const known = isStatic(call.stdin + separators) && more.length === 0 && call.stdin !== "" &&
    all.length <= MOST_LINES && !has(parsed, "d", "u", "n", "N", "i") &&
    (has(parsed, "r") || !call.stdin.includes("\\"));
  const fields = known ? all.map((line) => readFields(line, separators!)) : [];
  const [array] = valuesOf(parsed, "a");
  if (array !== undefined) {
    call.shell.assignItems(array, fields.length === 1 ? fields[0]! : [SPLIT]);
  }
  const names = parsed.operands.length > 0 ? parsed.operands : ["REPLY"];
  if (!parsed.options.every(({ name }) => /^[adpru]$/.test(name))) {
    for (const name of names) call.shell.assign(name, [ANY]);
  }
  for (const [at, name] of names.entries()) {
    const last = at === names.length - 1;
    const values = fields.map((one) => last ? one.slice(at).join(" ") : one[at] ?? "");
    call.shell.assign(name, known ? values : [passedOn(call.stdin)]);
  }
  return "";
}

const MOST_LINES = 20;

/** A line of names of files is still such a name. */
function passedOn(text: string): string {
  return text !== "" && !isStatic(text) && !isWild(text) && text.trim().split("\n").length === 1
    ? text.trim()
    : ANY;
}

/** Splits a line as `read` does. */
function readFields(line: string, separators: string): string[] {
  if (separators === "") return [line];
  const between = [...separators].map((char) => char.replace(/[\\\]^-]/, "\\$&")).join("");
  const fields = line.trim().split(new RegExp(`[${between}]`));
  return /^[ \t\n]+$/.test(separators) ? fields.filter(Boolean) : fields;
}

const MOST_ITEMS = 64;
const MAPFILE = spec("-t -d= -n= -O= -s= -u= -C= -c=");

function mapfile(argv: readonly string[], call: Call, run: Runner): string {
  const parsed = readOptions(argv.slice(1), MAPFILE);
  for (const code of valuesOf(parsed, "C")) run.code(`${code} 0 x`, call);
  checkName(parsed.operands[0] ?? "", call, run);
  const lines = call.stdin.replace(/\n$/, "").split("\n");
  const known = isStatic(call.stdin) && call.stdin !== "" && lines.length <= MOST_ITEMS &&
    parsed.options.every(({ name }) => name === "t");
  const items = known ? lines : [SPLIT];
  call.shell.assignItems(parsed.operands[0] ?? "MAPFILE", items);
  return "";
}

function setArguments(argv: readonly string[], call: Call, run: Runner): string {
  const { shell } = call;
  let at = 1;
  while (at < argv.length && /^[-+]./.test(argv[at]!) && argv[at] !== "--") {
    const named = /^[-+][a-zA-Z]*o$/.test(argv[at]!);
    const option = named ? argv[at + 1] ?? "errexit" : "errexit";
    if (!/^[-+][euxvfnCabmEho]+$/.test(argv[at]!) || !HARMLESS_OPTIONS.test(option)) {
      changed(argv, call, run);
    }
    at += named ? 2 : 1;
  }
  const ends = argv[at] === "--" || argv[at] === "-";
  // fish sets a variable of this name.
  if (!ends && /^([A-Z_]+|fish_\w+)$/.test(argv[at] ?? "")) changed(argv, call, run);
  if (ends || at < argv.length) shell.positional = argv.slice(ends ? at + 1 : at);
  return "";
}

function unset(argv: readonly string[], call: Call, run: Runner): string {
  for (const name of argv.slice(1)) {
    evaluateName(name, call, run);
    if (argv[1] === "-f") call.shell.functions.delete(name);
    else if (/^\w+$/.test(name)) {
      call.shell.assign(name, [name === "IFS" ? " \t\n" : ""]);
    }
  }
  return "";
}

function alias(argv: readonly string[], call: Call): string {
  const { shell } = call;
  shell.aliased ||= argv.some((arg) => arg.includes("=") || isWild(arg));
  for (const arg of argv.slice(1)) {
    const at = arg.indexOf("=");
    if (at > 0) shell.aliases.set(arg.slice(0, at), arg.slice(at + 1));
  }
  return "";
}

/** Signals at which a trap runs code only once, at the end. */
const SIGNAL = /^((SIG)?(EXIT|INT|TERM|HUP|QUIT)|0|1|2|3|15)$/;

function trap(argv: readonly string[], call: Call, run: Runner): string {
  const [code] = afterDashes(argv);
  if (code !== undefined && argv.length > 2 && !/^-?$/.test(code)) {
    const later = /^[\w ./:=+,@-]*$/.test(code) && argv.slice(2).every((one) => SIGNAL.test(one));
    if (!later) changed(argv, call, run);
    call.shell.trapped = true;
    run.code(code, { ...call, shell: call.shell.fork() });
  }
  return "";
}

function test(argv: readonly string[], call: Call, run: Runner): string {
  for (const [at, arg] of argv.entries()) {
    if (argv[at - 1] === "-v" || argv[at - 1] === "-R") evaluateName(arg, call, run);
  }
  return "";
}

function printf(argv: readonly string[], call: Call, run: Runner): string {
  if (argv[1] !== "-v") return OUTPUTS.printf!(argv, call, run);
  const name = argv[2] ?? "";
  checkName(name, call, run);
  const text = OUTPUTS.printf!(["printf", ...argv.slice(3)], call, run);
  if (/^\w+$/.test(name)) call.shell.assign(name, [text]);
  return "";
}

function evaluate(text: string, call: Call, run: Runner): void {
  run.reevaluate(text, call);
  for (const value of call.shell.valuesIn(text)) run.reevaluate(value, call);
}

/** A name that a builtin sets to a value which the text need not show. */
function checkName(name: string, call: Call, run: Runner): void {
  if (isReadByPrograms(name)) changed([name], call, run);
  evaluateName(name, call, run);
}

/** As `evaluate` for a name, of which only the index is computed. */
function evaluateName(name: string, call: Call, run: Runner): void {
  if (!/^\w*$/.test(name)) evaluate(name, call, run);
}

function assignAll(names: string[], { shell }: Call): string {
  for (const name of names) shell.assign(name, [ANY]);
  return "";
}

function codeOption(row: string): Handler {
  const grammar = spec(row);
  return (argv, call, run) => {
    for (const { value } of readOptions(argv.slice(1), grammar).options) {
      if (value !== null) run.code(value.replace(/^"?[^":]+"?:\s*/, ""), call);
    }
    return "";
  };
}
