import { z } from "zod";
import { quote } from "./shown/quote.ts";

/** A problem that a person must solve, in the status of the daemon. */
export const DaemonProblem = z.object({
  message: z.string(),
  fix: z.string().nullable().describe("the next step, for a person"),
  is_config: z.boolean().describe("a config cannot be used, so everything is denied"),
});
export type DaemonProblem = z.infer<typeof DaemonProblem>;

export function problemOf(message: string, fix: string | null = null): DaemonProblem {
  return { message, fix, is_config: false };
}

/** The problem of a damaged file that the daemon moved aside. A person inspects it. */
export function keptProblem(what: string, path: string): DaemonProblem {
  const fix = `look at it, then mv ${quote(path)} somewhere else`;
  return problemOf(`${what} kept, a new one was begun: ${path}`, fix);
}
