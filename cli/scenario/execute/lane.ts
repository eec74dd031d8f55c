import type { Scenario } from "../schema.ts";

/** `read` shares the workers, `change` runs one by one, `race` runs with nothing else in flight. */
export type Lane = "read" | "change" | "race";

/** Where a scenario runs: what changes data, or whose effect cannot be known, runs alone. */
export function laneOf(scenario: Scenario): Lane {
  const { exec } = scenario;
  if (!exec || exec.mode === "cli") return "change";
  if ((exec.concurrency ?? 0) > 1) return "race";
  return isReading(scenario) ? "read" : "change";
}

/** True for a request whose method promises to change nothing (RFC 9110, 9.2.1). */
export function isReading({ exec }: Scenario): boolean {
  return exec?.mode === "http" && /^(GET|HEAD|OPTIONS|TRACE)$/i.test(exec.method ?? "GET");
}
