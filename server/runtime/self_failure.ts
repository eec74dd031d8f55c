/** The variable with which a command of this program prints its error as one line of JSON on stderr. */
export const ERRORS_AS_JSON = { GATE_ERRORS: "json" };

/** The error of a command of this program, and the next command to type. */
export interface SelfFailure {
  message: string;
  next: string | null;
}

export function asksForJson(env: Record<string, string | undefined>): boolean {
  return env.GATE_ERRORS === ERRORS_AS_JSON.GATE_ERRORS;
}

/** The error that a command printed on stderr, else its whole text; null for an empty one. */
export function failureIn(stderr: string): SelfFailure | null {
  for (const line of stderr.split("\n").toReversed()) {
    const found = failureOf(line);
    if (found !== null) return found;
  }
  const message = stderr.trim();
  return message === "" ? null : { message, next: null };
}

function failureOf(line: string): SelfFailure | null {
  try {
    const { message, next } = JSON.parse(line);
    return typeof message === "string" ? { message, next: next ?? null } : null;
  } catch {
    return null; // the process wrote something else, too
  }
}
