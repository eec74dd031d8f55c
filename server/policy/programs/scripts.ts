import { ANY, isWild } from "../holes.ts";
import type { Call, Runner } from "../interpret/call.ts";
import { readOptions, spec, valuesOf } from "./options.ts";

/** Runs a file as a script if its content is known; otherwise records a read. */
export function runFile(
  path: string,
  call: Call,
  run: Runner,
  positional: readonly string[] = [],
): string {
  if (isWild(path)) {
    run.doubt("the file that runs is unknown", path, call, "code");
    return ANY;
  }
  // Without a slash, shells look for it among the programs in PATH as well.
  if (!path.includes("/")) run.note([path, ...positional], { ...call, supposed: true }, true);
  const text = run.content(path, call);
  if (text !== null) return run.code(text, call);
  if (path.startsWith("/dev/") || path.startsWith("/proc/")) {
    run.doubt("the code that runs from this file is unknown", path, call, "code");
  }
  run.touch("read", path, call);
  return ANY;
}

const SHELL = spec(
  "-c -s -l -i -r -x -e -u -n -v -f -a -b -h -k -m -p -t -B -C -E -H -P -T -D -o= -O= " +
    "--rcfile= --init-file= --login --norc --noprofile --posix --restricted --verbose --version --help",
  { posix: true },
);

/** Shells: run code from `-c`, from a file or from standard input. */
export function runShell(argv: readonly string[], call: Call, run: Runner): string {
  const parsed = readOptions(plusOptions(argv.slice(1)), SHELL);
  const shell = call.shell.fork();
  const inner = { ...call, shell, stdin: call.stdin };
  shell.plain = PLAIN_SHELLS.test(argv[0]!);
  shell.dotted ||= argv.some((arg, at) => arg === "dotglob" && argv[at - 1] === "-O");
  for (const path of valuesOf(parsed, "rcfile", "init-file")) runFile(path, inner, run);
  if (parsed.options.some(({ name }) => name === "version" || name === "help")) return "";
  const { operands } = parsed;
  // A lone "-" ends the options.
  const [first, ...rest] = operands[0] === "-" ? operands.slice(1) : operands;
  if (parsed.options.some(({ name }) => name === "c")) {
    shell.program = rest[0] ?? argv[0]!;
    shell.positional = rest.slice(1);
    const printed = first === undefined ? "" : runCode(first, inner, run);
    if (!call.supposed && !call.remote) call.shell.keepFiles(shell);
    return printed;
  }
  const fromInput = parsed.options.some(({ name }) => name === "s") || first === undefined;
  shell.positional = fromInput ? operands : rest;
  if (fromInput) return runCode(call.stdin, { ...inner, stdin: "" }, run);
  shell.program = first;
  return runFile(first, inner, run, rest);
}

/** Shells that may be dash. */
const PLAIN_SHELLS = /(^|\/)(sh|dash|ash)$/;

function runCode(code: string, call: Call, run: Runner): string {
  if (call.shell.plain && code.includes("$'")) {
    run.doubt("shells disagree about the meaning of $'…'", code.slice(0, 200), call);
  }
  return run.code(code, call);
}

/** `+x` switches an option off; `+O name` takes a value. */
function plusOptions(args: readonly string[]): string[] {
  const rest = [...args];
  const kept: string[] = [];
  while (/^[-+]/.test(rest[0] ?? "") && rest[0] !== "--" && rest[0] !== "-") {
    const arg = rest.shift()!;
    if (arg.startsWith("-")) {
      kept.push(arg);
      if (/^-[a-zA-Z]*[oO]$/.test(arg) && rest.length > 0) kept.push(rest.shift()!);
      if (/^--(rcfile|init-file)$/.test(arg) && rest.length > 0) kept.push(rest.shift()!);
    } else if (/[oO]$/.test(arg)) rest.shift();
  }
  return [...kept, ...rest];
}
