import { GateError } from "../errors.ts";

/** The error's primary libSQL code, as `SQLITE_IOERR` for `SQLITE_IOERR_FSYNC`, or "". */
export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? /^SQLITE_[A-Z]+/.exec(code)?.[0] ?? code : "";
}

/** True when the error says that the file itself is broken. */
export function isDamage(error: unknown): boolean {
  if (error instanceof GateError && error.cause) return isDamage(error.cause);
  const code = codeOf(error);
  return code === "SQLITE_CORRUPT" || code === "SQLITE_NOTADB";
}

/** The columns of the UNIQUE constraint that refused a batch, or null for any other error. */
export function brokenUnique(error: unknown): string | null {
  if (codeOf(error) !== "SQLITE_CONSTRAINT") return null;
  return /UNIQUE constraint failed: (.*)$/.exec((error as Error).message)?.[1] ?? null;
}

/** The error as a caller should hear it: what is wrong with the file, and what to do. */
export function explain(error: unknown, path: string): unknown {
  const why = EXPLAINED[codeOf(error)];
  if (!why) return error;
  return new GateError("unavailable", `Cannot use "${path}": ${why}`, { cause: error });
}

const DAMAGED = "it is damaged; restart gate, which moves it aside and begins a new one";
const LOCKED = "another process keeps it locked; stop that process and try again";

const EXPLAINED: Record<string, string> = {
  SQLITE_BUSY: LOCKED,
  SQLITE_LOCKED: LOCKED,
  SQLITE_CORRUPT: DAMAGED,
  SQLITE_NOTADB: DAMAGED,
  SQLITE_FULL: "the disk is full; make room and try again",
  SQLITE_IOERR: "the disk reports an error; check it and try again",
  SQLITE_READONLY: "it is read-only; make it writable and try again",
  SQLITE_CANTOPEN: "it cannot be opened; check that its folder exists and is writable",
};
