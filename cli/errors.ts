import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { ProblemError } from "../server/client.ts";
import { GateError, reasonOfCode } from "../server/errors.ts";
import { NotSigned } from "../server/proof/not_signed.ts";

/** Exit codes; `gate scenario` and `gate hook` also exit with 2. */
export const EXIT = { ok: 0, failed: 1, usage: 64 } as const;

/** Ends a command with a message and the next command to type. */
export class CliError extends Error {
  readonly next: string | null;
  readonly exit: number;

  constructor(message: string, options: { next?: string; exit?: number } = {}) {
    super(message);
    this.name = "CliError";
    this.next = options.next ?? null;
    this.exit = options.exit ?? EXIT.failed;
  }
}

/** Ends a command that has already printed its message. */
export class Exit extends Error {
  readonly exit: number;

  constructor(exit: number) {
    super(`exit ${exit}`);
    this.name = "Exit";
    this.exit = exit;
  }
}

/** A failed part of a report: its message and the next command to type. */
export interface Failure {
  problem?: string;
  next?: string | null;
}

export function failureOf(error: unknown): Required<Failure> {
  const next = error instanceof CliError ? error.next : null;
  return { problem: (error as Error).message, next };
}

/** The message of any error, and the next command to type if there is one. */
export function explain(error: unknown): { message: string; next: string | null } {
  if (error instanceof CliError) return { message: error.message, next: error.next };
  if (error instanceof ProblemError) return explainCode(error.problem.code, error.problem.detail);
  if (error instanceof GateError) return explainCode(error.code, error.message);
  if (error instanceof NotSigned) {
    return { message: error.message, next: error.is_foreign ? "gate doctor" : null };
  }
  const { code, path, message } = error as NodeJS.ErrnoException;
  if (code && LOST.has(code)) {
    return {
      message: "Cannot get an answer: the daemon ended during the request",
      next: "gate daemon status",
    };
  }
  const fix = FIXES[code ?? ""] ?? null;
  if (code && path) return { message: `Cannot use "${path}": ${reasonOf(error)}`, next: fix };
  if (fix) return { message: `Cannot continue: ${reasonOf(error)}`, next: fix };
  return { message: `Unexpected failure: ${message ?? error}`, next: "gate daemon logs" };
}

const LOST = new Set(["ECONNREFUSED", "ECONNRESET", "EPIPE"]);

const FIXES: Record<string, string> = {
  ENOSPC: "make room on the disk, then the same command",
  EMFILE: "ulimit -n 4096, then the same command",
};

/** Why the operating system refused a file. */
export function reasonOf(error: unknown): string {
  const { code, path, message } = error as NodeJS.ErrnoException;
  if (code === "ENOENT" && path?.includes("\uFFFD")) return "its name is not UTF-8; rename it";
  // A file to be written need not exist, so its missing folder is the cause.
  if (code === "ENOENT" && path && !existsSync(dirname(path))) return "its folder does not exist";
  const reason = reasonOfCode(code);
  return reason === code || code === undefined ? message : reason;
}

/** A message that ends with one command to run gives it as the next step, on a line of its own. */
function explainCode(code: string, message: string): { message: string; next: string | null } {
  const [, cause, next] = LAST_STEP.exec(message) ?? [];
  if (cause && next) return { message: cause, next };
  return { message, next: nextStep(code, message) };
}

const LAST_STEP =
  /^([\s\S]+); (?:(?:run:?|see) (?=gate |chmod )|(?=correct |set GATE_HOME ))([^;]+)$/;

/** The next command to type, with the action's id; null if the message already names one. */
function nextStep(code: string, message: string): string | null {
  if (
    /\bgate [a-z]|; (?:run|move it away|make room|make it|check)\b/
      .test(message)
  ) {
    return null;
  }
  if (OF_RECORDS.has(code)) {
    const kind = /\b(action|grant|session) "/.exec(message)?.[1];
    if (kind !== "action") return kind ? `gate ${kind} list` : null;
  }
  const id = /\baction "([0-9a-f-]{36})"/.exec(message)?.[1];
  return NEXT_STEPS[code]?.replace("<id>", id ?? "<id>") ?? null;
}

// For these codes the next step depends on the record that the message names.
const OF_RECORDS = new Set(["not_found", "conflict"]);

const NEXT_STEPS: Record<string, string> = {
  project_required: "gate project list, then the same command with --project <id>",
  unauthorized: "gate daemon restart",
  not_found: "gate log",
  conflict: "gate show <id>",
  digest_mismatch: "gate show <id>, then approve or reject what it shows now",
  unavailable: "gate daemon status",
  internal: "gate daemon logs",
};
