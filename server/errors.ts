import { z } from "zod";

/** Each error code with its HTTP status. */
export const ERROR_STATUS = {
  invalid: 400,
  project_required: 400,
  unauthorized: 401,
  forbidden: 403,
  proof_required: 403,
  not_found: 404,
  method_not_allowed: 405,
  timeout: 408,
  conflict: 409,
  identity_changed: 409,
  digest_mismatch: 412,
  too_large: 413,
  unsupported_media_type: 415,
  misdirected: 421,
  rate_limited: 429,
  headers_too_large: 431,
  internal: 500,
  unavailable: 503,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

/**
 * The body of every error answer (RFC 9457), with the error `code`. Where `next` is the command to
 * type or the thing to do, `summary` is the `detail` without it.
 */
export const Problem = z.looseObject({
  type: z.string(),
  title: z.string(),
  status: z.number().int(),
  detail: z.string(),
  code: z.string(),
  summary: z.string().optional(),
  next: z.string().optional(),
});
export type Problem = z.infer<typeof Problem>;

interface ErrorOptions {
  cause?: unknown;
  fields?: Record<string, unknown>;
  /** A command to type, or the thing to do. */
  next?: string;
}

/**
 * The only error that the gate throws on purpose. The caller sees its message, so the message
 * names the cause and the next step: `next` is the step's part of it. The problem document includes
 * `fields`, and `next` by itself.
 */
export class GateError extends Error {
  readonly code: ErrorCode;
  readonly fields: Record<string, unknown>;

  constructor(
    code: ErrorCode,
    message: string,
    { cause, fields = {}, next }: ErrorOptions = {},
  ) {
    super(next === undefined ? message : `${message}; ${sentenceOf(next)}`, { cause });
    this.name = "GateError";
    this.code = code;
    this.fields = next === undefined ? fields : { ...fields, summary: message, next };
  }

  /** The HTTP status of this error. */
  get status(): number {
    return ERROR_STATUS[this.code];
  }

  /** The problem document that a client receives. */
  toProblem(): Problem {
    return {
      ...this.fields,
      type: `about:blank#${this.code}`,
      title: titleOf(this.code),
      status: this.status,
      detail: this.message,
      code: this.code,
    };
  }
}

/** The text of an error for the log: its stack with its message. libSQL leaves the message out. */
export function traceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { stack = "", message } = error;
  return stack.includes(message) ? stack : `${error}\n${stack}`;
}

const REASONS: Record<string, string> = {
  EACCES: "permission denied",
  EEXIST: "it already exists",
  EISDIR: "it is a folder",
  ELOOP: "its symbolic links form a loop",
  EMFILE: "too many files are open",
  ENAMETOOLONG: "the name is too long",
  ENOENT: "it does not exist",
  ENOSPC: "the disk is full",
  ENOTDIR: "a part of its path is not a folder",
  EPERM: "the operation is not permitted",
  EROFS: "the file system is read-only",
};

/** Why the operating system refused a file, by its error code; the code itself if it is rare. */
export function reasonOfCode(code = "unknown error"): string {
  return REASONS[code] ?? code;
}

function sentenceOf(next: string): string {
  return /^(gate|chmod|mv) /.test(next) ? `run ${next}` : next;
}

function titleOf(code: ErrorCode): string {
  const words = code.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
