import { ANY, isStatic } from "../holes.ts";
import type { Call, Runner } from "./call.ts";
import { checkVariable } from "./environment.ts";
import { has, type Spec, spec, splitCommand, valuesOf } from "./options.ts";

/** How a program that runs another is given it. */
export interface Wrapper {
  grammar: Spec;
  /** Operands before the command: a time, a host, a container. */
  skip: number;
  /** `NAME=value` before the command. */
  assigns: boolean;
  /** Options whose value is shell code. */
  code: string[];
  /** The words are joined and read by a shell. */
  joined: boolean;
  /** Every operand is shell code by itself. */
  each: boolean;
  /** It runs elsewhere: its files are not ours. */
  remote: boolean;
  /** It adds nothing that a rule would have to allow. */
  passive: boolean;
  /** Options with which nothing is run. */
  unless: string[];
  /** Options whose value is the program (the rest are its arguments). */
  program: string[];
  /** Options whose value is split into words of the command. */
  splits: string[];
  /** Without a command, what it reads is shell code. */
  reads: boolean;
  /** Options with which the words are joined and read by a shell. */
  shellWith: string[];
  /** Options that change the folder. */
  folder: string[];
  writes: string[];
}

const PLAIN: Omit<Wrapper, "grammar"> = {
  skip: 0,
  assigns: false,
  code: [],
  joined: false,
  each: false,
  remote: false,
  passive: false,
  unless: [],
  program: [],
  splits: [],
  reads: false,
  shellWith: [],
  folder: [],
  writes: [],
};

/** One row of the table: the options as in `spec`, and what is different from a plain wrapper. */
export function wrapper(
  options: string,
  how: Partial<Wrapper> & { posix?: boolean } = {},
): Wrapper {
  return { ...PLAIN, ...how, grammar: spec(options, { posix: how.posix }) };
}

/** Runs what a wrapper is given; what that prints. */
export function runWrapper(
  row: Wrapper,
  args: readonly string[],
  call: Call,
  run: Runner,
): string {
  const { parsed, rest } = splitCommand(args, row.grammar, row.skip);
  if (has(parsed, ...row.unless)) return ANY;
  for (const { value } of parsed.options.slice(0, 12)) {
    if (value !== null && isStatic(value) && !/\s/.test(value)) {
      run.touch("read", value, call, { implied: true });
    }
  }
  const inner: Call = { ...call, remote: call.remote || row.remote };
  for (const path of valuesOf(parsed, ...row.writes)) run.touch("write", path, call);
  for (const code of valuesOf(parsed, ...row.code)) run.code(code, fork(inner));
  const shell = inner.shell.fork();
  for (const path of valuesOf(parsed, ...row.folder)) shell.cwd = folder(path, shell.cwd);
  const words = commandOf(row, parsed, rest, { ...inner, shell }, run);
  if (row.each) {
    for (const code of words) run.code(code, { ...inner, shell: shell.fork() });
    return ANY;
  }
  if (words.length > 0) {
    return row.joined || has(parsed, ...row.shellWith)
      ? run.code(words.join(" "), { ...inner, shell })
      : run.command(words, { ...inner, shell });
  }
  const reads = row.reads || has(parsed, ...row.shellWith);
  return reads && valuesOf(parsed, ...row.code).length === 0
    ? run.code(inner.stdin, { ...inner, shell, stdin: "" })
    : ANY;
}

function commandOf(
  row: Wrapper,
  parsed: ReturnType<typeof splitCommand>["parsed"],
  rest: string[],
  call: Call,
  run: Runner,
): string[] {
  const split = valuesOf(parsed, ...row.splits).flatMap((text) =>
    isStatic(text)
      ? text.split(/\s+/).filter(Boolean).map((word) => word.replace(/['"]/g, ""))
      : [ANY]
  );
  const programs = valuesOf(parsed, ...row.program).flatMap((text) => text.split(/\s+/));
  const words = [...programs, ...split, ...rest];
  // Whatever the name: env takes even "=1" for a variable, and runs what comes after it.
  while (row.assigns && words[0]?.includes("=")) {
    const [name, value] = cut(words.shift()!);
    checkVariable(name, value, call, run);
    call.shell.assign(name, [value]);
  }
  return words;
}

function cut(assignment: string): [string, string] {
  const at = assignment.indexOf("=");
  return [assignment.slice(0, at), assignment.slice(at + 1)];
}

function fork(call: Call): Call {
  return { ...call, shell: call.shell.fork() };
}

function folder(path: string, cwd: string): string {
  return path.startsWith("/") ? path : `${cwd}/${path}`;
}
