import type { Scenario } from "../schema.ts";

/**
 * In order: `read` runs in parallel; `race` runs alone, before a change can use up the resource;
 * `change` runs one by one; `strain` may bring the target down,
 * or change what a user may do.
 */
export const LANES = ["read", "race", "change", "strain"] as const;
export type Lane = typeof LANES[number];

/** A body of this size is meant to strain the target. */
const STRAIN_CHARS = 4_000;

/** The lane of a scenario. One whose effect is unknown counts as a change. */
export function laneOf(scenario: Scenario): Lane {
  const { exec, playbook } = scenario;
  // Rights that a user gets would open to them what others must find closed.
  if ((playbook as { late?: boolean } | undefined)?.late === true) return "strain";
  if (!exec || exec.mode === "cli") return "change";
  // A GET that resets the data would take the records from everything after it.
  if ((exec.body?.length ?? 0) >= STRAIN_CHARS || scenario.changes === true) return "strain";
  if ((exec.concurrency ?? 0) > 1) return "race";
  return isReading(scenario) ? "read" : "change";
}

/** True when every method is safe (RFC 9110, 9.2.1) and its operation is not known to change data. */
export function isReading({ exec, changes }: Scenario): boolean {
  if (exec?.mode !== "http" || changes === true) return false;
  const methods = [exec.method ?? "GET", ...(exec.setup ?? []).map(({ method }) => method)];
  return methods.every((method) => /^(GET|HEAD|OPTIONS|TRACE)$/i.test(method));
}
