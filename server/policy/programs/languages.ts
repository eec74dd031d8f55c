import { type Spec, spec } from "./options.ts";

/** An interpreter of another language: its options, and the calls in its code that run programs. */
export interface Language {
  grammar: Spec;
  /** Options whose value is code. */
  code: string[];
  /** Calls that run a program. */
  runs: RegExp;
  /** Calls that may hide the above, such as code built from text. */
  hides: RegExp;
  /** The option that edits the operands in place. */
  edits?: string;
  /** Options that make it open each operand, which may be a command or have a sign. */
  opens?: string[];
  /** The option that only checks a file. */
  checks?: string;
  /** Modules (`-m`) whose arguments are code. */
  modules?: RegExp;
  /** The option that serves the folder of `-t`. */
  serves?: string;
  /** Modules that serve or pack whole folders. */
  folders?: RegExp;
  /** It starts the program that the first line of a script names. */
  starts?: boolean;
  /** Its code resembles a shell's: bare words are commands. */
  shell_like?: boolean;
  /** Finds the text that it passes to a shell. */
  escape?: RegExp;
}

const HIDES =
  /\beval\b|\bexec\b|__import__|importlib|getattr|(?<![.\w])compile\s*\(|b64decode|fromCharCode|\batob\b|\bchr\s*\(|\bpack\b|\bunpack\b|Function\s*\(|\brequire\s*\(\s*[^'"\s)]|\bimport\s*\(\s*[^'"\s)]/;

const python: Language = {
  grammar: spec(
    "-c= -m= -W= -X= -B -d -E -h -i -I -O -OO -P -q -s -S -u -v -V -x --check-hash-based-pycs=",
    { posix: true },
  ),
  code: ["c"],
  runs:
    /\b(os\s*\.\s*(system|popen|exec\w*|spawn\w*|posix_spawn\w*)|subprocess|pty\s*\.\s*spawn|commands\s*\.\s*get|popen|from\s+os\s+import|multiprocessing|ctypes|sh\s*\.)/,
  hides: HIDES,
  folders: /^(http\.server|SimpleHTTPServer|zipfile|tarfile|zipapp)$/,
  modules: /^(timeit|pdb|trace|profile|cProfile|code|runpy|IPython)$/,
};

export const node: Language = {
  grammar: spec(
    "-e,--eval= -p,--print= -r,--require= --import= --loader= -c,--check -i,--interactive -v --input-type= " +
      "--env-file= --max-old-space-size= -C,--conditions=",
    { posix: true },
  ),
  code: ["eval", "print"],
  checks: "check",
  runs:
    /child_process|execa|\bexecSync|\bspawnSync|\bspawn\s*\(|\bexec\s*\(|Bun\s*\.\s*(spawn|\$)|Deno\s*\.\s*(run|Command)|process\s*\.\s*(binding|dlopen)|\$`|zx|shelljs|worker_threads/,
  hides:
    /\beval\b|\batob\b|fromCharCode|Function\s*\(|\brequire\s*\(\s*[^'"`\s)]|\bimport\s*\(\s*[^'"`\s)]|mainModule|constructor\s*\.\s*constructor|Buffer\s*\.\s*from\s*\([^)]*(base64|hex)/,
};

const perl: Language = {
  grammar: spec(
    "-e= -E= -M= -m= -I= -i=? -0=# -l=# -C=# -F= -a -c -d -n -p -s -S -t -T -u -U -v -w -W -X -h",
    { posix: true },
  ),
  code: ["e", "E"],
  runs:
    /\bsystem\b|\bexec\b|`|\bqx\b|\bopen\s*\(?[^;|]{0,200}\||\bpopen\b|IPC::|\bfork\b|\bsyscall\b/,
  edits: "i",
  opens: ["n", "p", "i"],
  starts: true,
  hides: /\beval\b|\bpack\b|\bunpack\b|MIME::Base64|\bchr\b|\/[a-z]*e[a-z]*\s*;?\s*$/,
};

const ruby: Language = {
  grammar: spec(
    "-e= -r= -I= -C= -E= -F= -i=? -0=# -K= -T=# -W=# -x=? -a -c -d -h -l -n -p -s -S -v -w -y",
    { posix: true },
  ),
  code: ["e"],
  runs: /\bsystem\b|\bexec\b|`|%x|\bspawn\b|popen|Open3|\bfork\b|Kernel|PTY/,
  edits: "i",
  hides: /\beval\b|instance_eval|\bsend\b|public_send|pack\b|unpack|decode64|\.chr\b/,
};

const php: Language = {
  grammar: spec("-r= -B= -R= -E= -F= -f= -d= -c= -z= -S= -t= -a -h -i -l -m -n -q -s -v -w -H", {
    posix: true,
  }),
  code: ["r", "B", "R", "E"],
  serves: "S",
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

/** A language without patterns of its own; common words find its calls. */
const other = (options: string, ...code: string[]): Language => ({
  grammar: spec(options, { posix: true }),
  code,
  runs:
    /\bsystem\b|\bexec\b|\bshell\b|\bspawn\b|\bpopen\b|`|\brun\s*\(|\brun-program\b|\.execute\s*\(|\bprocess\b|\bos:cmd\b|\bsys\.command\b|\/sh\b|start-process|invoke-expression|\biex\b|do shell script/i,
  hides: /\beval\b|base64|-enc/i,
});

/** PowerShell's options have one dash, any case, and may be abbreviated. */
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

/** The Windows shell; its lines resemble a Unix shell's. */
export const cmd: Language = {
  grammar: spec(""),
  code: [],
  runs:
    /\b(del|erase|rd|rmdir|format|move|ren|rename|reg|schtasks|sc|net|powershell|pwsh|taskkill|diskpart|bcdedit|cipher|attrib|icacls|takeown)\b|>/i,
  hides: /\^\w|%\w+:/,
  shell_like: true,
};

export const deno: Language = {
  ...node,
  grammar: spec("-p,--print --ext= -T", { posix: true }),
  code: [],
};

/** The interpreters of other languages, by the name of the program without its version. */
export const LANGUAGES: Record<string, Language> = {
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
  kotlin: other("-e,-expression= -cp=", "expression"),
  jshell: other("-R= -J= -C= --class-path= --feedback="),
  clojure: other("-e,--eval= -m=", "eval"),
  clj: other("-e,--eval= -m=", "eval"),
  bb: other("-e,--eval= -m=", "eval"),
  racket: other("-e,--eval= -l= -t= -f=", "eval"),
  guile: other("-c= -l= -e= -s=", "c"),
  sbcl: other("--eval= --load= --script= --core= --noinform --non-interactive", "eval"),
  ocaml: other("-e= -I=", "e"),
  raku: other("-e= -I= -M= -n -p", "e"),
  elixir: other("-e,--eval= -r= -S=", "eval"),
  iex: other("-e,--eval= -r= -S=", "eval"),
  erl: {
    ...other(""),
    grammar: spec("-eval= -s= -noshell -pa=", { single: true }),
    code: ["eval"],
  },
  octave: other("--eval= -q", "eval"),
  ghci: { ...other("-e= -i=", "e"), escape: /^[ \t]*:!\s*(.*)$/gm },
  runghc: other("-e= -i=", "e"),
  m4: { ...other("-D= -U= -I="), escape: /\be?syscmd\s*\(\s*`*([^')\n]*)/g },
  irb: ruby,
  pry: ruby,
  ipython: {
    ...python,
    escape: /^(?:[\w, \t]*=)?[ \t]*(?:!+|%+(?:sx|sc|system|bash|sh|script)\b)\s*([^\n]*)/gm,
  },
  pwsh: powershell,
  powershell,
};

/** The language of an interpreter by its name, with or without a version. */
export function languageOf(name: string): Language | undefined {
  if (Object.hasOwn(LANGUAGES, name)) return LANGUAGES[name];
  if (!/[\d.]$/.test(name)) return undefined;
  const plain = name.replace(/[\d.]+$/, "");
  return Object.hasOwn(LANGUAGES, plain) ? LANGUAGES[plain] : undefined;
}

/** Whether the program runs code of another language. */
export function isInterpreter(name: string): boolean {
  return languageOf(name) !== undefined;
}
