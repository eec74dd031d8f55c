import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { ProblemError } from "../server/client.ts";
import { GateError, reasonOfCode } from "../server/errors.ts";
import { ExplainedError } from "../server/proof/explained_error.ts";
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
  const { message, next } = explain(error);
  return { problem: message, next };
}

/** The message of any error, and the next command to type if there is one. */
export function explain(error: unknown): { message: string; next: string | null } {
  if (error instanceof CliError) return { message: error.message, next: error.next };
  if (error instanceof ProblemError) {
    return explainProblem({ ...error.problem, message: error.problem.detail });
  }
  if (error instanceof GateError) {
    return explainProblem({ ...error.fields, code: error.code, message: error.message });
  }
  if (error instanceof ExplainedError) {
    const isForeign = error instanceof NotSigned && error.is_foreign;
    return { message: error.message, next: isForeign ? "gate doctor" : null };
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

/** The next step for a refusal of the operating system. */
const FIXES: Record<string, string> = {
  ENOSPC: "make room on the disk, then the same command",
  EACCES: "let your user read and write it and its folder, then the same command",
  EPERM: "let your user read and write it and its folder, then the same command",
  EROFS: "choose a folder that can be written",
  EMFILE: "ulimit -n 4096, then the same command",
};

/**
 * The error of a file that a person named for the output. Returns every other error unchanged.
 * @param option the option that names another file
 */
export function cannotWrite(path: string, option: string, error: unknown): unknown {
  const { code = "", path: refused } = error as NodeJS.ErrnoException;
  // An error without a path is one of the answer, and on a full disk another name helps nobody.
  if (refused === undefined || !/^E[A-Z]+$/.test(code) || code === "ENOSPC") return error;
  const why = code === "ENOENT" && existsSync(dirname(path))
    ? "its folder takes no new files"
    : reasonOf(error);
  return new CliError(`Cannot write "${path}": ${why}`, {
    next: `the same command with another file for ${option}`,
  });
}

/** Why the operating system refused a file. */
export function reasonOf(error: unknown): string {
  const { code, path, message } = error as NodeJS.ErrnoException;
  if (code === "ENOENT" && path?.includes("\uFFFD")) return "its name is not UTF-8; rename it";
  // A file to be written need not exist, so its missing folder is the cause.
  if (code === "ENOENT" && path && !existsSync(dirname(path))) return "its folder does not exist";
  const reason = reasonOfCode(code);
  return reason === code || code === undefined ? message : reason;
}

/** The members of a problem document, and of an error of gate, that tell the next step. */
interface Told {
  code: string;
  message: string;
  summary?: unknown;
  next?: unknown;
  action_id?: unknown;
  grant_id?: unknown;
  /** The kind of the record that does not exist. */
  unknown?: unknown;
}

/** A problem that names its next step gives it on a line of its own; others by their code. */
function explainProblem({ message, ...told }: Told): { message: string; next: string | null } {
  const { summary, next } = told;
  if (typeof summary === "string" && typeof next === "string") return { message: summary, next };
  return { message, next: nextStep(told) };
}

/** The next command to type, for a problem that names none; null if none helps. */
function nextStep({ code, action_id, grant_id, unknown }: Omit<Told, "message">): string | null {
  if (code === "not_found") return LISTS.get(String(unknown)) ?? null;
  if (code === "conflict" && grant_id) return LISTS.get("grant")!;
  if (typeof action_id === "string") return OF_ACTION[code]?.(action_id) ?? null;
  return NEXT_STEPS[code] ?? null;
}

/** The commands that list the records of a kind. */
const LISTS = new Map([
  ["action", "gate log"],
  ["grant", "gate grant list"],
  ["session", "gate session list"],
]);

const OF_ACTION: Record<string, (id: string) => string> = {
  conflict: (id) => `gate show ${id}`,
  digest_mismatch: (id) => `gate show ${id}, then approve or reject what it shows now`,
};

const NEXT_STEPS: Record<string, string> = {
  project_required: "gate project list, then the same command with --project <id>",
  unavailable: "gate daemon status",
};
