import { ANY, isWild, show } from "../holes.ts";
import type { Call, Handler, Runner } from "./call.ts";
import { has, type Parsed, readOptions, type Spec, spec, valuesOf } from "./options.ts";

/** An interpreter of another language: how it is given code, and what in that code runs programs. */
interface Language {
  grammar: Spec;
  /** Options whose value is code. */
  code: string[];
  /** Calls that run a program. */
  runs: RegExp;
  /** Other ways to reach such calls: code built from text. */
  hides: RegExp;
  /** The option with which its operands are changed in place. */
  edits?: string;
  /** The option with which a file is only looked at. */
  checks?: string;
  /** Modules (`-m`) whose arguments are code. */
  modules?: RegExp;
  /** Its code is much like a shell's: bare words are commands. */
  shell_like?: boolean;
}

const HIDES =
  /\beval\b|\bexec\b|__import__|importlib|getattr|(?<![.\w])compile\s*\(|b64decode|fromCharCode|\batob\b|\bchr\s*\(|\bpack\b|\bunpack\b|Function\s*\(|\brequire\s*\(\s*[^'"\s)]|\bimport\s*\(\s*[^'"\s)]/;

const python: Language = {
  grammar: spec(
    "-c= -m= -W= -X= -B -d -E -h -i -I -O -OO -P -q -s -S -u -v -V -x --check-hash-based-pycs=",
    {
      posix: true,
    },
  ),
  code: ["c"],
  runs:
    /\b(os\s*\.\s*(system|popen|exec\w*|spawn\w*|posix_spawn\w*)|subprocess|pty\s*\.\s*spawn|commands\s*\.\s*get|popen|from\s+os\s+import|multiprocessing|ctypes|sh\s*\.)/,
  hides: HIDES,
  modules: /^(timeit|pdb|trace|profile|cProfile|code|runpy|IPython)$/,
};

const node: Language = {
  grammar: spec(
    "-e,--eval= -p,--print= -r,--require= --import= --loader= -c,--check -i,--interactive -v --input-type= " +
      "--env-file= --max-old-space-size= -C,--conditions=",
    { posix: true },
  ),
  code: ["eval", "print"],
  checks: "check",
  runs:
    /child_process|execa|\bexecSync|\bspawnSync|\bspawn\s*\(|\bexec\s*\(|Bun\s*\.\s*(spawn|\$)|Deno\s*\.\s*(run|Command)|process\s*\.\s*(binding|dlopen)|zx|shelljs|worker_threads/,
  hides:
    /\beval\b|\batob\b|fromCharCode|Function\s*\(|\brequire\s*\(\s*[^'"`\s)]|\bimport\s*\(\s*[^'"`\s)]|mainModule|constructor\s*\.\s*constructor|Buffer\s*\.\s*from\s*\([^)]*(base64|hex)/,
};

const perl: Language = {
  grammar: spec(
    "-e= -E= -M= -m= -I= -i=? -0=# -l=# -C=# -F= -a -c -d -n -p -s -S -t -T -u -U -v -w -W -X -h",
    {
      posix: true,
    },
  ),
  code: ["e", "E"],
  runs:
    /\bsystem\b|\bexec\b|`|\bqx\b|\bopen\s*\(?[^;|]{0,200}\||\bpopen\b|IPC::|\bfork\b|\bsyscall\b/,
  edits: "i",
  hides: /\beval\b|\bpack\b|\bunpack\b|MIME::Base64|\bchr\b|\/[a-z]*e[a-z]*\s*;?\s*$/,
};

const ruby: Language = {
  grammar: spec(
    "-e= -r= -I= -C= -E= -F= -i=? -0=# -K= -T=# -W=# -x=? -a -c -d -h -l -n -p -s -S -v -w -y",
    {
      posix: true,
    },
  ),
  code: ["e"],
  runs: /\bsystem\b|\bexec\b|`|%x|\bspawn\b|popen|Open3|\bfork\b|Kernel|PTY/,
  edits: "i",
  hides: /\beval\b|instance_eval|\bsend\b|public_send|pack\b|unpack|decode64|\.chr\b/,
};

const php: Language = {
  grammar: spec("-r= -B= -R= -E= -F= -f= -d= -c= -z= -a -h -i -l -m -n -q -s -v -w -H", {
    posix: true,
  }),
  code: ["r", "B", "R", "E"],
  checks: "l",
  runs: /\b(system|exec|shell_exec|passthru|popen|proc_open|pcntl_exec)\b|`/,
  hides: /\beval\b|base64_decode|\bassert\b|create_function|call_user_func|\bchr\s*\(|\$\w+\s*\(/,
};

const lua: Language = {
  grammar: spec("-e= -l= -i -v -E -W", { posix: true }),
  code: ["e"],
  runs: /os\s*\.\s*execute|io\s*\.\s*popen|vim\s*\.\s*(fn\.)?system/,
  hides: /\bload(string)?\b|string\s*\.\s*char|\bdofile\b|\[\s*["']/,
};

const other = (options: string, ...code: string[]): Language => ({
  grammar: spec(options, { posix: true }),
  code,
  runs:
    /\bsystem\b|\bexec\b|\bshell\b|\bspawn\b|\bpopen\b|`|\brun\s*\(|start-process|invoke-expression|\biex\b|do shell script/i,
  hides: /\beval\b|base64|-enc/i,
});

/** Its options are words behind one dash, in any case and cut anywhere. */
const powershell: Language = {
  grammar: spec(
    "-c,-command= -e,-ec,-enc,-encodedcommand= -f,-file= -noprofile -noninteractive -nologo " +
      "-executionpolicy,-ep= -windowstyle= -workingdirectory,-wd= -inputformat= -outputformat=",
    { posix: true, single: true },
  ),
  code: ["command"],
  runs:
    /\b(system|start-process|invoke-\w+|iex|iwr|irm|saps|start-job|new-object|add-type)\b|&\s*["'$({]|\b(remove|clear|set|move|rename|new|stop|format|restart|disable|unregister)-\w+|\b(rm|rd|rmdir|del|erase|ri|mv|move|ren|sc|spps|kill)\b|>/i,
  hides: /base64|-enc|\$env:|\bdownloadstring\b/i,
  shell_like: true,
};

const deno: Language = {
  ...node,
  grammar: spec("-p,--print --ext= -T", { posix: true }),
  code: [],
};

const LANGUAGES: Record<string, Language> = {
  python,
  pypy: python,
  node,
  nodejs: node,
  tsx: node,
  "ts-node": {
    ...node,
    grammar: spec("-e,--eval= -p,--print= -r= -T -P,--project= -O=", { posix: true }),
  },
  perl,
  ruby,
  jruby: ruby,
  php,
  lua,
  luajit: lua,
  R: other("-e= -f= -g= -d= --args --no-save --vanilla -q -s", "e"),
  Rscript: other("-e=", "e"),
  julia: other("-e,--eval= -E,--print= -p= -t=", "eval", "print"),
  osascript: other("-e= -l= -s=", "e"),
  tclsh: other(""),
  expect: other("-c=", "c"),
  groovy: other("-e=", "e"),
  scala: other("-e=", "e"),
  elixir: other("-e,--eval= -r= -S=", "eval"),
  pwsh: powershell,
  powershell,
};

/** The language of an interpreter's name, versions and all. */
function languageOf(name: string): Language | undefined {
  const plain = name.replace(/\.exe$/, "").replace(/[\d.]+$/, "");
  return Object.hasOwn(LANGUAGES, plain) ? LANGUAGES[plain] : undefined;
}

/** Whether the program runs code of another language. */
export function isInterpreter(name: string): boolean {
  return languageOf(name) !== undefined;
}

/** Runs an interpreter: inline code is searched for commands, files are left open. */
export const runInterpreter: Handler = (argv, call, run) => {
  const language = languageOf(argv[0]!.slice(argv[0]!.lastIndexOf("/") + 1))!;
  const parsed = readOptions(argumentsOf(argv, language), language.grammar);
  if (has(parsed, "encodedcommand")) run.doubt("the code that is run is encoded", argv[0]!, call);
  const inline = valuesOf(parsed, ...language.code);
  for (const code of inline) searchCode(code, language, call, run);
  if (language.edits !== undefined && has(parsed, language.edits)) {
    for (const path of parsed.operands.slice(inline.length > 0 ? 0 : 1)) {
      run.touch("write", path, call);
    }
  }
  if (inline.length > 0) return ANY;
  return runOperand(parsed, language, call, run);
};

/** PowerShell reads its options in any case. */
function argumentsOf(argv: readonly string[], { shell_like = false }: Language): string[] {
  const args = argv.slice(1);
  return shell_like ? args.map((arg) => /^-\w+$/.test(arg) ? arg.toLowerCase() : arg) : args;
}

function runOperand(parsed: Parsed, language: Language, call: Call, run: Runner): string {
  const [file] = parsed.operands;
  if (language.checks !== undefined && has(parsed, language.checks)) {
    for (const path of parsed.operands) run.touch("read", path, call, { implied: true });
    return ANY;
  }
  const module = parsed.options.some(({ name }) =>
    name === "m" || name === "version" || name === "V"
  );
  if (module) {
    const isCode = valuesOf(parsed, "m").some((name) => language.modules?.test(name));
    if (isCode) { for (const code of parsed.operands) searchCode(code, language, call, run); }
    return ANY;
  }
  const text = file === undefined || file === "-" ? call.stdin : run.content(file, call);
  if (text !== null) searchCode(text, language, call, run);
  else if (file !== undefined) {
    if (isWild(file)) run.doubt("nobody can know which file is run", show(file), call);
    run.touch("read", file, call, { implied: true });
  }
  return ANY;
}

/** `deno eval`, `bun -e`: the same code behind a subcommand. */
export const runDeno: Handler = (argv, call, run) => {
  if (argv[1] === "eval") {
    for (const code of readOptions(argv.slice(2), deno.grammar).operands) {
      searchCode(code, node, call, run);
    }
  }
  const inline = valuesOf(readOptions(argv.slice(1), node.grammar), "eval", "print");
  for (const code of inline) searchCode(code, node, call, run);
  return ANY;
};

const STRINGS =
  /"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\.)*)`|\b(?:qx|q|qq|%x)\s*[({[/|!]([^)}\]/|!]*)/g;

/** Searches code for what it runs: its strings as commands; code that runs something is held. */
function searchCode(code: string, language: Language, call: Call, run: Runner): void {
  if (code === "") return;
  if (isWild(code)) {
    run.doubt("nobody can know all of the code that is run", show(code).slice(0, 200), call);
  }
  noteFiles(code, call, run);
  const supposed = { ...call, supposed: true, stdin: "", shell: call.shell.fork() };
  if (language.shell_like) run.code(code, supposed);
  if (!language.runs.test(code) && !language.hides.test(code)) return;
  const strings = [...code.matchAll(STRINGS)].map((one) =>
    one.slice(1).find((text) => text !== undefined)!
  )
    .map((text) => text.replace(/\\(["'`\\])/g, "$1"));
  for (const text of strings.slice(0, 40)) if (/\s/.test(text)) run.code(text, supposed);
  for (let at = 0; at < Math.min(strings.length, 40); at++) {
    if (/^[\w./-]+$/.test(strings[at]!)) run.command(strings.slice(at, at + 12), supposed);
  }
  run.doubt("inline code runs programs", show(code).slice(0, 200), call);
}

const WRITES =
  /(?:\bopen\s*\(\s*|writeFile(?:Sync)?\s*\(\s*|appendFile(?:Sync)?\s*\(\s*|writeTextFile(?:Sync)?\s*\(\s*|File\.write\s*\(?\s*|file_put_contents\s*\(\s*|Path\s*\(\s*|mkdir(?:s|Sync)?\s*\(\s*|makedirs\s*\(\s*|createWriteStream\s*\(\s*|Bun\.write\s*\(\s*)["'`]([^"'`\n]{1,4096})["'`]([^)\n]{0,200}\)(?:\s*\.\s*\w+)?)/g;
const DELETES =
  /(?:rmtree|unlink(?:Sync)?|os\.remove|rmSync|rm|rmdir(?:Sync)?|File\.delete|FileUtils\.rm\w*|Deno\.remove(?:Sync)?)\s*\(?\s*["'`]([^"'`\n]+)["'`]/g;
const CHANGES =
  /rmtree|unlink|os\.remove|os\.rename|rmSync|rmdir|writeFile|appendFile|truncate|File\.delete|FileUtils|Deno\.remove|shutil\.(?:rmtree|move|copy\w*|chown)|symlink|copyFile|renameSync/;

/** The files that code names where it writes or deletes. */
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
    run.doubt("inline code changes files", show(code).slice(0, 200), call);
  }
}
