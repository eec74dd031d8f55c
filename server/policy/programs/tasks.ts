import { ANY, isStatic, isWild, show } from "../holes.ts";
import type { Call, Handler, Runner } from "../interpret/call.ts";
import { has, readOptions, spec, splitCommand, valuesOf } from "./options.ts";
import { quote } from "../../shown/quote.ts";

const NODE_OPTIONS = spec(
  "-C,--dir,--prefix,--cwd= -w,--workspace= -F,--filter= --loglevel= -s,--silent -r,--recursive --if-present " +
    "--workspaces -p,--package= -c,--call,--shell-mode= --yes -y --no -i --bun --node-options= " +
    "--script-shell=",
  { posix: true },
);

/** Subcommands that are tasks themselves. */
const OWN_TASKS = new Set(["test", "start", "stop", "restart", "t", "tst"]);
const RUN = new Set(["run", "run-script", "rum", "urn", "task"]);
const EXEC = new Set(["exec", "x", "dlx"]);

/** `npm`, `pnpm`, `yarn`, `bun`: runs the text of project tasks; `exec` is a wrapper. */
export const runNodeManager: Handler = (argv, call, run) => {
  const { parsed, rest } = splitCommand(argv.slice(1), NODE_OPTIONS, 0);
  const [verb, ...more] = rest;
  if (verb === undefined) return ANY;
  const options = splitCommand(more, NODE_OPTIONS, 0);
  for (const value of scriptShells(argv)) runSetting("script-shell", value, call, run);
  const elsewhere = has(parsed, "cwd", "workspace", "filter", "recursive");
  if (EXEC.has(verb)) {
    for (const code of valuesOf(options.parsed, "shell-mode")) {
      if (code !== null) run.code(code, call);
    }
    const [only, ...others] = options.rest;
    if (only === undefined) return ANY;
    // Newer versions of yarn give a single word to a shell.
    if (others.length === 0 && /\s/.test(only)) return run.code(only, call);
    return run.command(options.rest, call);
  }
  if (/^workspaces?$/.test(verb)) {
    const at = more.findIndex((word, index) => index > 0 && (RUN.has(word) || EXEC.has(word)));
    const from = verb === "workspace" ? 1 : at;
    return from > 0 ? runNodeManager([argv[0]!, ...more.slice(from)], call, run) : ANY;
  }
  if (verb === "explore" && more.length > 1) return run.command(afterDashes(more.slice(1)), call);
  if (verb === "config" || verb === "set" || verb === "c") {
    const [, key = "", value = ""] = /^([\w-]+)(?:=(.*))?$/s.exec(settingOf(verb, more)) ?? [];
    runSetting(key, value, call, run);
    return ANY;
  }
  const task = RUN.has(verb)
    ? options.rest[0]
    : OWN_TASKS.has(verb) || bare(argv)
    ? verb
    : undefined;
  if (task === undefined || elsewhere) return ANY;
  const given = RUN.has(verb) ? options.rest.slice(1) : more;
  return runTask(task === "t" || task === "tst" ? "test" : task, afterDashes(given), call, run);
};

/** The values of `--script-shell`, at any position. */
function scriptShells(argv: readonly string[]): string[] {
  const end = argv.indexOf("--");
  const options = end < 0 ? argv : argv.slice(0, end);
  return options.flatMap((arg, at) => {
    const value = /^--script-shell(?:=(.*))?$/s.exec(arg);
    return value ? [value[1] ?? argv[at + 1] ?? ANY] : [];
  });
}

/** The setting in `npm config set key value`, as `key=value`. */
function settingOf(verb: string, words: readonly string[]): string {
  const given = verb === "set" ? words : words[0] === "set" ? words.slice(1) : [];
  const plain = given.filter((word) => !word.startsWith("-"));
  return plain[0]?.includes("=") ? plain[0] : plain.slice(0, 2).join("=");
}

/** Settings whose value the package manager runs. */
const RUN_KEYS =
  /^(script-shell|scriptShell|shell|editor|git|node-options|init-module|viewer|browser|yarnPath|yarn-path)$/;

function runSetting(key: string, value: string, call: Call, run: Runner): void {
  if (
    !RUN_KEYS.test(key) || /^(\/bin\/|\/usr\/bin\/)?(sh|bash|zsh)$|^(true|false|null|)$/.test(value)
  ) return;
  run.code(value, { ...call, supposed: true, stdin: "" });
  run.doubt(`the setting "${key}" names a program to run`, `${key}=${show(value)}`, call);
}

/** Whether the manager runs tasks without `run`, such as `yarn build`. */
function bare(argv: readonly string[]): boolean {
  return /(^|\/)(yarn|pnpm|bun)$/.test(argv[0]!);
}

function afterDashes(words: string[]): string[] {
  const at = words.indexOf("--");
  return at < 0 ? words : [...words.slice(0, at), ...words.slice(at + 1)];
}

function runTask(name: string, args: string[], call: Call, run: Runner): string {
  if (isWild(name)) {
    run.doubt("the task that runs is unknown", show(name), call, "code");
    return ANY;
  }
  for (const part of [`pre${name}`, name, `post${name}`]) {
    const text = isStatic(part) ? run.script(part, call) : null;
    if (text === null) continue;
    const code = part === name ? [text, ...args.map(quote)].join(" ") : text;
    run.code(code, { ...call, shell: call.shell.fork(), stdin: "", task: true });
  }
  return ANY;
}

const MAKE = spec(
  "-f,--file,--makefile= -C,--directory= -I,--include-dir= -j,--jobs=? -l,--load-average=? -o,--old-file= " +
    "-W,--what-if= -E,--eval= -O=? -B -d -e -h -i -k -L -n -p -q -r -R -s -S -t -v -w",
);

/** `make`: runs the recipes of a makefile that the command itself writes. */
export const runMake: Handler = (argv, call, run) => {
  const parsed = readOptions(argv.slice(1), MAKE);
  for (const path of valuesOf(parsed, "makefile")) {
    const text = path === "-" ? call.stdin : run.content(path, call);
    if (text !== null) readMakefile(text, call, run);
  }
  for (const text of valuesOf(parsed, "eval")) readMakefile(text, call, run);
  for (const word of parsed.operands) {
    const [, name, value] = /^(\w+)\s*[:+?!]*=([\s\S]*)$/.exec(word) ?? [];
    if (name === "SHELL" || name === ".SHELLFLAGS" || value?.includes("$(shell")) {
      run.doubt("the argument tells make what to run", word, call);
    }
    // A recipe may run the value, unless it is a list of options.
    const guessed = value?.startsWith("-") ? undefined : "text" as const;
    if (value) run.code(value, { ...call, supposed: true, guessed, stdin: "" });
  }
  return ANY;
};

function readMakefile(text: string, call: Call, run: Runner): void {
  if (isWild(text)) {
    run.doubt("part of the makefile is unknown", show(text).slice(0, 80), call, "code");
  }
  for (const line of text.split("\n")) {
    const recipe = /^\t[@+-]*(.*)$/.exec(line)?.[1] ?? /^[^\t#=]*:[^=;]*;(.*)$/.exec(line)?.[1];
    if (recipe) {
      run.code(recipe.replaceAll("$$", "$"), { ...call, stdin: "", shell: call.shell.fork() });
    }
    for (const [, code] of line.matchAll(/\$\(shell\s+([^)]*)\)/g)) {
      run.code(code!, { ...call, stdin: "" });
    }
    for (const [, path] of line.matchAll(/\$\(file\s+>{1,2}\s*([^,)\s]+)/g)) {
      run.touch("write", path!, call);
    }
    if (/^[^\t]*!=/.test(line)) {
      run.code(line.slice(line.indexOf("!=") + 2), { ...call, stdin: "" });
    }
  }
}

/** `at`, `batch`: run their input later. */
export const runLater: Handler = (argv, call, run) => {
  const parsed = readOptions(argv.slice(1), spec("-f= -q= -t= -m -M -l -d -r -c -v -V -b"));
  if (has(parsed, "l", "d", "r", "c")) return "";
  const [file] = valuesOf(parsed, "f");
  if (file !== undefined) run.touch("read", file, call);
  const text = file === undefined ? call.stdin : run.content(file, call) ?? ANY;
  return run.code(text, { ...call, stdin: "", shell: call.shell.fork() });
};

/** `crontab`: runs the commands of its lines. */
export const runCrontab: Handler = (argv, call, run) => {
  const parsed = readOptions(argv.slice(1), spec("-u= -l -r -e -i -s"));
  if (has(parsed, "l")) return ANY;
  const [file] = parsed.operands;
  if (file !== undefined && file !== "-") run.touch("read", file, call);
  const text = file === undefined || file === "-" ? call.stdin : run.content(file, call) ?? ANY;
  for (const line of isWild(text) ? [] : text.split("\n")) {
    const command = /^\s*(?:@\w+|(?:\S+\s+){4}\S+)\s+(.+)$/.exec(line)?.[1];
    if (command) run.code(command, { ...call, supposed: true, stdin: "" });
  }
  return "";
};
