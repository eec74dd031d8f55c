import { ANY, isWild, show } from "../holes.ts";
import type { Call, Handler, Runner } from "../interpret/call.ts";
import { cmd, deno, type Language, languageOf, node } from "./languages.ts";
import { has, type Parsed, readOptions, valuesOf } from "./options.ts";
import { EVERYTHING } from "../below.ts";
import { baseName } from "./grammar.ts";
import { touchBackups } from "./operands.ts";
import { touchBelow } from "./recursion.ts";

/** Runs an interpreter: searches inline code for commands; a script file counts as a read. */
export const runInterpreter: Handler = (argv, call, run) => {
  const language = languageOf(baseName(argv[0]!))!;
  const parsed = readOptions(argumentsOf(argv, language), language.grammar);
  if (has(parsed, "encodedcommand")) run.doubt("the code that runs is encoded", argv[0]!, call);
  const inline = valuesOf(parsed, ...language.code);
  for (const code of inline) searchCode(code, language, call, run);
  if (language.edits !== undefined && has(parsed, language.edits)) {
    const files = parsed.operands.slice(inline.length > 0 ? 0 : 1);
    for (const path of files) run.touch("write", path, call);
    for (const suffix of valuesOf(parsed, language.edits)) {
      touchBackups(suffix, files, call, run);
    }
  }
  // `ruby -run -e httpd folder`
  if (valuesOf(parsed, "r").includes("un")) touchBelow(parsed.operands, WHOLE, call, run);
  if (inline.length > 0) {
    if (language.opens !== undefined && has(parsed, ...language.opens)) {
      for (const word of parsed.operands) openOperand(word, call, run);
    }
    return ANY;
  }
  return runOperand(parsed, language, call, run);
};

/** `perl -n`: an operand `code|` runs code, and `>name` writes a file. */
function openOperand(word: string, call: Call, run: Runner): void {
  const code = /^\s*\|([^]*)$|^([^]*)\|\s*$/.exec(word);
  if (code) run.code(code[1] ?? code[2]!, { ...call, stdin: "", shell: call.shell.fork() });
  if (code || isWild(word)) run.doubt("perl may run an operand", show(word), call);
  const [, sign, path] = /^\s*([+]?[<>]{1,2})\s*([^]*?)\s*$/.exec(word) ?? [];
  if (path) run.touch(sign === "<" ? "read" : "write", path, call);
}

/** The arguments; PowerShell accepts its options in any case. */
function argumentsOf(argv: readonly string[], { shell_like = false, modules }: Language): string[] {
  const args = argv.slice(1);
  // The words behind the name of a module are its own arguments.
  const isFlag = (arg: string, at: number) =>
    /^-([BdEhiIOPqsSuvVx]+|[XW].*)$/.test(arg) || /^-[XW]$/.test(args[at - 1] ?? "");
  const at = modules ? args.findIndex((arg, index) => !isFlag(arg, index)) : -1;
  const name = /^-[a-zA-Z]*m(.*)$/.exec(args[at] ?? "")?.[1];
  if (name !== undefined) args.splice(at + (name === "" ? 2 : 1), 0, "--");
  return shell_like ? args.map((arg) => /^-\w+$/.test(arg) ? arg.toLowerCase() : arg) : args;
}

function runOperand(parsed: Parsed, language: Language, call: Call, run: Runner): string {
  const [file] = parsed.operands;
  if (language.checks !== undefined && has(parsed, language.checks)) {
    for (const path of parsed.operands) run.touch("read", path, call, { implied: true });
    return ANY;
  }
  if (language.serves !== undefined && has(parsed, language.serves)) {
    touchBelow(valuesOf(parsed, "t").concat(has(parsed, "t") ? [] : ["."]), WHOLE, call, run);
  }
  const module = parsed.options.some(({ name }) =>
    name === "m" || name === "version" || name === "V"
  );
  if (module) {
    if (language.modules) noteModule(parsed, call, run);
    const isCode = valuesOf(parsed, "m").some((name) => language.modules?.test(name));
    if (isCode) { for (const code of parsed.operands) searchCode(code, language, call, run); }
    if (valuesOf(parsed, "m").some((name) => language.folders?.test(name))) {
      const folders = parsed.operands.filter((word) => !/^-|^\d+$/.test(word));
      touchBelow(folders.length > 0 ? folders : ["."], WHOLE, call, run);
    }
    return ANY;
  }
  const text = file === undefined || file === "-" ? call.stdin : run.content(file, call);
  if (text !== null) {
    run.note(["code", text], { ...call, supposed: true }, true);
    searchCode(text, language, call, run);
  } else if (file !== undefined) {
    if (isWild(file)) run.doubt("the file that runs is unknown", show(file), call, "code");
    run.touch("read", file, call, { implied: true });
    if (language.starts) {
      const program = file.includes("/") ? file : `./${file}`;
      run.command([program, ...parsed.operands.slice(1)], { ...call, supposed: true, stdin: "" });
    }
    supposeCode(parsed.operands.slice(1), language, call, run);
  }
  return ANY;
}

/** `python3 -m pip install x` is what `pip install x` is, so rules about that program match too. */
function noteModule(parsed: Parsed, call: Call, run: Runner): void {
  for (const name of valuesOf(parsed, "m")) {
    for (const program of new Set([name, name.replaceAll("_", "-")])) {
      run.note([program, ...parsed.operands], call, true);
    }
  }
}

const WHOLE = { ...EVERYTHING, links: true };

const GIVEN = /^(?:-c|-e|-r|--command|--execute|--eval|--code)(?:=([\s\S]*))?$/;

/** `manage.py shell -c code`: the arguments of a script may be code of its language. */
function supposeCode(
  words: readonly string[],
  language: Language,
  call: Call,
  run: Runner,
): void {
  for (const [at, word] of words.slice(0, 12).entries()) {
    const given = GIVEN.exec(word);
    const code = given && (given[1] ?? words[at + 1]);
    if (code && /[("'`]/.test(code)) searchCode(code, language, { ...call, supposed: true }, run);
  }
}

/** `rails runner code`, `mix run -e code`: searches the code after a subcommand. */
export function runCodeOf(name: string, verbs: RegExp): Handler {
  return (argv, call, run) => {
    const at = argv.findIndex((arg, index) => index > 0 && !arg.startsWith("-"));
    if (at < 0 || !verbs.test(argv[at]!)) return ANY;
    for (const word of argv.slice(at + 1)) {
      if (/[("'`\s]/.test(word)) searchCode(word, languageOf(name)!, call, run);
    }
    return ANY;
  };
}

/** `cmd /c …`: searches the words after it as one line. */
export const runCmd: Handler = (argv, call, run) => {
  const at = argv.findIndex((arg) => /^\/+[ckr]$/i.test(arg));
  const attached = /^\/+[ckr](.+)$/is.exec(argv[1] ?? "")?.[1];
  const code = at > 0
    ? argv.slice(at + 1).join(" ")
    : attached !== undefined
    ? [attached, ...argv.slice(2)].join(" ")
    : call.stdin;
  searchCode(code, cmd, call, run);
  return ANY;
};

/** `deno eval`, `bun -e`: searches their code as Node's. */
export const runDeno: Handler = (argv, call, run) => {
  const operands = argv.slice(1).filter((arg) => !/^-./.test(arg));
  if (operands.at(operands[0] === "run" ? 1 : 0) === "-") searchCode(call.stdin, node, call, run);
  if (operands.some((arg, at) => at < 2 && /^https?:/.test(arg)) && operands[0] === "run") {
    run.doubt("this downloads code and runs it", argv.join(" "), call);
  }
  if (argv[1] === "eval") {
    for (const code of readOptions(argv.slice(2), deno.grammar).operands) {
      searchCode(code, node, call, run);
    }
  }
  const inline = valuesOf(readOptions(argv.slice(1), node.grammar), "eval", "print");
  for (const code of inline) searchCode(code, node, call, run);
  runPackage(argv, call, run);
  return ANY;
};

/** `deno run npm:name …`: runs the program of a package. */
function runPackage(argv: readonly string[], call: Call, run: Runner): void {
  const at = argv.findIndex((arg) => /^(npm|jsr):/.test(arg));
  const name = /^\w+:\/?(?:@[^/]+\/)?([^/@]+)/.exec(argv[at] ?? "")?.[1];
  if (name === undefined || /^(add|install|remove|cache|info)$/.test(argv[1]!)) return;
  run.command([name, ...argv.slice(at + 1)], { ...call, supposed: true, stdin: "" });
}

const STRINGS =
  /"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\.)*)`|\b(?:qx|q|qq|%x)\s*[({[/|!]([^)}\]/|!]*)/g;

/** Searches code for commands: its strings count as supposed commands, and calls that run programs ask. */
export function searchCode(code: string, language: Language, call: Call, run: Runner): void {
  if (code === "") return;
  if (isWild(code)) {
    run.doubt("part of the code that runs is unknown", show(code).slice(0, 200), call, "code");
  }
  noteFiles(code, call, run);
  const supposed = { ...call, supposed: true, stdin: "", shell: call.shell.fork() };
  if (language.shell_like) run.code(code, supposed);
  for (const [, line] of language.escape ? code.matchAll(language.escape) : []) {
    run.code(line ?? "", supposed);
    run.doubt("the inline code runs a shell command", show(code).slice(0, 200), call, "code");
  }
  if (!language.runs.test(code) && !language.hides.test(code)) return;
  const strings = [...code.matchAll(STRINGS)].map((one) =>
    one.slice(1).find((text) => text !== undefined)!
  )
    .map((text) => text.replace(/\\(["'`\\])/g, "$1"));
  for (const text of strings.slice(0, 40)) if (/\s/.test(text)) run.code(text, supposed);
  for (let at = 0; at < Math.min(strings.length, 40); at++) {
    if (/^[\w./-]+$/.test(strings[at]!)) run.command(strings.slice(at, at + 12), supposed);
  }
  run.doubt("the inline code runs programs", show(code).slice(0, 200), call, "code");
}

const WRITES =
  /(?:\bopen\s*\(\s*|writeFile(?:Sync)?\s*\(\s*|appendFile(?:Sync)?\s*\(\s*|writeTextFile(?:Sync)?\s*\(\s*|File\.write\s*\(?\s*|file_put_contents\s*\(\s*|Path\s*\(\s*|mkdir(?:s|Sync)?\s*\(\s*|makedirs\s*\(\s*|createWriteStream\s*\(\s*|Bun\.write\s*\(\s*)["'`]([^"'`\n]{1,4096})["'`]([^)\n]{0,200}\)(?:\s*\.\s*\w+)?)/g;
const DELETES =
  /(?:rmtree|unlink(?:Sync)?|os\.remove|rmSync|rm|rmdir(?:Sync)?|File\.delete|FileUtils\.rm\w*|Deno\.remove(?:Sync)?)\s*\(?\s*["'`]([^"'`\n]+)["'`]/g;
const CHANGES =
  /rmtree|unlink|os\.remove|os\.rename|rmSync|rmdir|writeFile|appendFile|truncate|File\.delete|FileUtils|Deno\.remove|shutil\.(?:rmtree|move|copy\w*|chown)|symlink|copyFile|renameSync/;

/** Records the files that code writes or deletes by name. */
function noteFiles(code: string, call: Call, run: Runner): void {
  let named = false;
  for (const [whole, path, rest] of code.matchAll(WRITES)) {
    if (
      /^(open|Path)/.test(whole) &&
      !/["'][rbt]*[wax+]|\.(write|touch|mkdir|unlink|rename)/.test(rest!)
    ) {
      continue;
    }
    named = true;
    run.touch("write", path!, call);
  }
  for (const [, path] of code.matchAll(DELETES)) {
    named = true;
    run.touch("delete", path!, call);
  }
  if (!named && CHANGES.test(code)) {
    run.doubt("the inline code changes files", show(code).slice(0, 200), call, "code");
  }
}
