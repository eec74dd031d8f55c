import { quote } from "../shown/quote.ts";
import type { DaemonProblem } from "./schema.ts";

/** A problem with its next step. The config that it is about can still be used. */
export function problemOf(message: string, fix: string | null = null): DaemonProblem {
  return { message, fix, is_config: false };
}

/** The problem of a damaged file that the daemon moved aside. A person inspects it. */
export function keptProblem(what: string, path: string): DaemonProblem {
  const fix = `look at it, then mv ${quote(path)} somewhere else`;
  return problemOf(`${what} kept, a new one was begun: ${path}`, fix);
}

/** The problems without repeated messages, in their order. */
export function oncePerMessage(problems: readonly DaemonProblem[]): DaemonProblem[] {
  return [...new Map(problems.map((one) => [one.message, one])).values()];
}
