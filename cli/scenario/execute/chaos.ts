import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import type { Exec } from "../schema.ts";
import { type CommandOptions, type CommandRun, judgeCommand, runCommand } from "./command.ts";
import { showsStackTrace } from "./leaks.ts";
import { failed, passed, type Verdict } from "./verdict.ts";

/** The result of a command line under one condition. */
export interface ChaosRun {
  condition: string;
  status: "passed" | "failed" | "skipped";
  reason: string;
  /** How the command went, when it failed. */
  command?: CommandRun;
}

/**
 * Runs a command line again under each of the named conditions, one by one in a fixed order.
 * Returns the conditions under which it fails.
 */
export async function runChaos(
  exec: Exec,
  names: readonly string[],
  options: CommandOptions,
): Promise<{ verdict: Verdict; runs: ChaosRun[] }> {
  const start = { argv: anchored(exec.command!, options), cwd: options.cwd, env: options.env };
  const runs: ChaosRun[] = [];
  for (const condition of CONDITIONS.filter(({ name }) => names.includes(name))) {
    runs.push(await runUnder(condition, start, exec, options));
  }
  return { verdict: verdictOf(runs), runs };
}

async function runUnder(
  { name, words, demand, change }: Condition,
  start: Start,
  exec: Exec,
  options: CommandOptions,
): Promise<ChaosRun> {
  const changed = change(start);
  if (typeof changed === "string") return { condition: name, status: "skipped", reason: changed };
  try {
    const { argv, ...around } = changed.start;
    const run = await runCommand(argv, { ...options, ...around });
    const expected = judgeCommand(exec, run, options.timeout_ms);
    const why = expected.status === "passed"
      ? null
      : demand === "same"
      ? expected.reason
      : disorderOf(run, options.timeout_ms);
    return why === null ? { condition: name, status: "passed", reason: outcomeOf(run) } : {
      condition: name,
      status: "failed",
      reason: `Under ${words} (${name}): ${why}`,
      command: run,
    };
  } finally {
    changed.undo?.();
  }
}

/** No condition excuses these: hanging, dying of a signal, showing a stack trace. */
function disorderOf(run: CommandRun, timeout_ms: number): string | null {
  if (run.error) return `The command ${run.error}`;
  if (run.timed_out) return `The command did not end within ${timeout_ms} ms`;
  // SIGPIPE is the normal end of a pipeline.
  if (run.signal && run.signal !== "SIGPIPE") return `The command died of ${run.signal}`;
  const code = run.exit_code ?? 0;
  if (code > 131 && code < 140) return `The command exited with ${code}: a signal ended it`;
  return showsStackTrace(run.stdout + run.stderr)
    ? `The command exited with ${run.exit_code} and a stack trace`
    : null;
}

function outcomeOf({ exit_code, signal }: CommandRun): string {
  return signal ? `Ended by ${signal}` : `Exited with ${exit_code}`;
}

function verdictOf(runs: ChaosRun[]): Verdict {
  const failures = runs.filter(({ status }) => status === "failed");
  const tried = runs.filter(({ status }) => status !== "skipped").length;
  if (failures.length > 0) return failed(failures.map(({ reason }) => reason).join("; "));
  const skipped = runs.length > tried ? `, ${runs.length - tried} not available here` : "";
  return passed(`and so under ${tried} conditions of chaos${skipped}`);
}

/** Replaces the program by its absolute path, so that neither PATH nor cwd matters. */
function anchored(argv: string[], { cwd, env }: CommandOptions): string[] {
  const [program = "", ...rest] = argv;
  if (program.includes("/")) return [resolve(cwd, program), ...rest];
  const found = (env.PATH ?? "").split(delimiter).map((folder) => resolve(cwd, folder, program))
    .find((path) => existsSync(path));
  return [found ?? program, ...rest];
}

/** A command line before its start. */
interface Start {
  argv: string[];
  cwd: string;
  env: Record<string, string | undefined>;
  /** Its output is not read. */
  unread?: boolean;
}

/** One difference between the surroundings of a program and a developer's terminal. */
interface Condition {
  name: string;
  /** Completes "Under …": "a clock at +14:00". */
  words: string;
  /** `same`: it must exit as before. `orderly`: it may fail, with an exit code and a message. */
  demand: "same" | "orderly";
  /** Returns the changed start and how to undo it, or why the condition is not available here. */
  change: (start: Start) => { start: Start; undo?: () => void } | string;
}

const SHELL = "/bin/sh";
const FULL = "/dev/full";

/** Every condition, in the order of trying. */
export const CONDITIONS: readonly Condition[] = [
  environment("tz-far", "a clock at +14:00", "same", { TZ: "Pacific/Kiritimati" }),
  environment("tz-unknown", "a time zone that does not exist", "same", { TZ: "Nowhere/Land" }),
  environment("locale-c", "the plain C locale", "same", { LANG: "C", LC_ALL: "C" }),
  environment("locale-turkish", "a Turkish locale", "same", locale("tr_TR.UTF-8")),
  environment("locale-unknown", "a locale that does not exist", "same", locale("xx_XX.UTF-8")),
  environment("columns-tiny", "a terminal of one column", "same", { COLUMNS: "1", LINES: "1" }),
  environment("term-unknown", "an unknown terminal", "same", { TERM: "no-such-terminal" }),
  shell("stdin-closed", "a closed stdin", "same", 'exec "$@" <&-'),
  shell("stdout-closed", "a closed stdout", "orderly", 'exec "$@" >&-'),
  shell("stderr-closed", "a closed stderr", "orderly", 'exec "$@" 2>&-'),
  {
    name: "stdout-unread",
    words: "a reader of its output that has gone (SIGPIPE)",
    demand: "orderly",
    change: (start) => ({ start: { ...start, unread: true } }),
  },
  {
    name: "stdout-full",
    words: "a full disk behind its stdout",
    demand: "orderly",
    change: (start) => existsSync(FULL) ? inShell(`exec "$@" >${FULL}`, start) : `no ${FULL} here`,
  },
  {
    name: "home-read-only",
    words: "a HOME that cannot be written",
    demand: "orderly",
    change: (start) => withoutWriting((HOME) => ({ ...start, env: { ...start.env, HOME } })),
  },
  environment("home-missing", "no HOME", "orderly", { HOME: undefined }),
  environment("tmp-missing", "a TMPDIR that does not exist", "orderly", {
    TMPDIR: "/nonexistent/tmp",
  }),
  environment("path-empty", "a PATH that holds nothing", "orderly", { PATH: "/nonexistent/bin" }),
  {
    name: "cwd-deleted",
    words: "a working directory that was deleted",
    demand: "orderly",
    change: (start) => {
      const cwd = mkdtempSync(join(tmpdir(), "chaos-"));
      return inShell('rmdir "$PWD" && exec "$@"', { ...start, cwd });
    },
  },
];

function environment(
  name: string,
  words: string,
  demand: Condition["demand"],
  changes: Record<string, string | undefined>,
): Condition {
  const change = (start: Start) => {
    const env = Object.entries({ ...start.env, ...changes }).filter(([, value]) =>
      value !== undefined
    );
    return { start: { ...start, env: Object.fromEntries(env) } };
  };
  return { name, words, demand, change };
}

function locale(name: string): Record<string, string> {
  return { LANG: name, LC_ALL: name, LANGUAGE: name };
}

function shell(
  name: string,
  words: string,
  demand: Condition["demand"],
  script: string,
): Condition {
  return { name, words, demand, change: (start) => inShell(script, start) };
}

/** Only a shell can close descriptors. It passes the arguments on unchanged. */
function inShell(script: string, start: Start): { start: Start } | string {
  if (!existsSync(SHELL)) return `no ${SHELL} here`;
  return { start: { ...start, argv: [SHELL, "-c", script, "sh", ...start.argv] } };
}

/** Finds a folder that takes no files. For root only the kernel can refuse, as in /sys. */
function withoutWriting(
  change: (folder: string) => Start,
): { start: Start; undo: () => void } | string {
  const folder = mkdtempSync(join(tmpdir(), "chaos-"));
  chmodSync(folder, 0o500);
  const undo = () => {
    chmodSync(folder, 0o700);
    rmSync(folder, { recursive: true, force: true });
  };
  const other = [folder, "/sys"].find((one) => existsSync(one) && !takesFiles(one));
  if (other) return { start: change(other), undo };
  undo();
  return "every folder here can be written";
}

function takesFiles(folder: string): boolean {
  const probe = join(folder, ".scenario-tool");
  try {
    writeFileSync(probe, "");
    rmSync(probe);
    return true;
  } catch {
    return false;
  }
}
