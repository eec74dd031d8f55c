import type { Scenario } from "../schema.ts";

/**
 * `read` shares the workers; `race` runs with nothing else in flight, and before anything has used
 * up what is raced for; `change` runs one by one; what may bring the target down comes last.
 */
export const LANES = ["read", "race", "change", "strain"] as const;
export type Lane = typeof LANES[number];

/** A body of this size, or as deep as this, is sent to see what breaks. */
const STRAIN_CHARS = 4_000;

/** Where a scenario runs: what changes data, or whose effect cannot be known, runs alone. */
export function laneOf(scenario: Scenario): Lane {
  const { exec } = scenario;
  if (!exec || exec.mode === "cli") return "change";
  if ((exec.body?.length ?? 0) >= STRAIN_CHARS) return "strain";
  if ((exec.concurrency ?? 0) > 1) return "race";
  return isReading(scenario) ? "read" : "change";
}

/** True where every method promises to change nothing (RFC 9110, 9.2.1). */
export function isReading({ exec }: Scenario): boolean {
  if (exec?.mode !== "http") return false;
  const methods = [exec.method ?? "GET", ...(exec.setup ?? []).map(({ method }) => method)];
  return methods.every((method) => /^(GET|HEAD|OPTIONS|TRACE)$/i.test(method));
}
