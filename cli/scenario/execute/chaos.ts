import { existsSync } from "node:fs";
import { delimiter, resolve } from "node:path";
import type { Exec } from "../schema.ts";
import { type Condition, CONDITIONS, type Start } from "./chaos_conditions.ts";
import { type CommandOptions, type CommandRun, judgeCommand, runCommand } from "./command.ts";
import { showsStackTrace } from "./leaks.ts";
import type { Verdict } from "./verdict.ts";

/** What a command made of one condition. */
export interface ChaosRun {
  condition: string;
  status: "passed" | "failed" | "skipped";
  reason: string;
  /** What it left behind where it failed. */
  command?: CommandRun;
}

/**
 * Runs a command line again under each of the named conditions, one by one in a fixed order, and
 * says under which of them it fails.
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

/** What no circumstance excuses: hanging, dying of a signal, showing a stack trace. */
function disorderOf(run: CommandRun, timeout_ms: number): string | null {
  if (run.error) return `The command ${run.error}`;
  if (run.timed_out) return `The command did not end within ${timeout_ms} ms`;
  // To die of SIGPIPE is how a pipeline is meant to end.
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
  const failed = runs.filter(({ status }) => status === "failed");
  const tried = runs.filter(({ status }) => status !== "skipped").length;
  if (failed.length > 0) {
    return { status: "failed", reason: failed.map(({ reason }) => reason).join("; ") };
  }
  const skipped = runs.length > tried ? `, ${runs.length - tried} not to be had here` : "";
  return { status: "passed", reason: `and so under ${tried} conditions of chaos${skipped}` };
}

/** The program by its whole path: neither a missing PATH nor another folder may hide it. */
function anchored(argv: string[], { cwd, env }: CommandOptions): string[] {
  const [program = "", ...rest] = argv;
  if (program.includes("/")) return [resolve(cwd, program), ...rest];
  const found = (env.PATH ?? "").split(delimiter).map((folder) => resolve(cwd, folder, program))
    .find((path) => existsSync(path));
  return [found ?? program, ...rest];
}
