import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { z } from "zod";
import { ToolError } from "./errors.ts";
import type { Execution, Scenario } from "./schema.ts";

/** Failures that a person has accepted for a while. */
const Baseline = z.looseObject({
  accepted: z.array(z.looseObject({
    fingerprint: z.string(),
    title: z.string().optional(),
    reason: z.string().optional(),
    until: z.iso.date().describe("the last day on which it is accepted"),
  })),
});
export type Baseline = z.infer<typeof Baseline>;

/** What a scenario is about, whatever id it has this time. */
export function fingerprintOf(scenario: Scenario): string {
  const { family, operation, title, exec } = scenario;
  const subject = JSON.stringify([
    family ?? null,
    operation ?? null,
    title,
    exec?.method,
    exec?.path,
  ]);
  return createHash("sha256").update(subject).digest("hex").slice(0, 16);
}

/** Reads a baseline; one that is not there accepts nothing. @throws ToolError when it is broken */
export function readBaseline(path: string): Baseline {
  if (!existsSync(path)) return { accepted: [] };
  try {
    return Baseline.parse(JSON.parse(readFileSync(path, "utf8")));
  } catch (cause) {
    const why = cause instanceof z.ZodError
      ? `${cause.issues[0]?.path.join("/")} ${cause.issues[0]?.message}`
      : (cause as Error).message;
    throw new ToolError(`Cannot read the baseline "${path}": ${why}`, { cause });
  }
}

/** The failures that are accepted on `today` (`2026-01-31`), by scenario id; expired ones are not. */
export function acceptedBy(
  baseline: Baseline,
  scenarios: Scenario[],
  today: string,
): Map<string, { until: string; reason: string | null }> {
  const valid = new Map(
    baseline.accepted.filter(({ until }) => until >= today)
      .map((one) => [one.fingerprint, { until: one.until, reason: one.reason ?? null }]),
  );
  return new Map(scenarios.flatMap((scenario) => {
    const found = valid.get(fingerprintOf(scenario));
    return found ? [[scenario.scenario_id, found] as const] : [];
  }));
}

/** The last day of each acceptance that ended before `today`, by scenario id. */
export function endedFor(
  baseline: Baseline,
  scenarios: Scenario[],
  today: string,
): Map<string, string> {
  const ended = new Map(
    baseline.accepted.filter(({ until }) => until < today)
      .map(({ fingerprint, until }) => [fingerprint, until]),
  );
  return new Map(scenarios.flatMap((scenario) => {
    const until = ended.get(fingerprintOf(scenario));
    return until === undefined ? [] : [[scenario.scenario_id, until] as const];
  }));
}

/**
 * Accepts what failed now until `until`. What was accepted before keeps its day and reason, even an
 * expired one: renewing it takes somebody who has looked at it. What this run did not try stays.
 */
export function updateBaseline(
  baseline: Baseline,
  { scenarios, executions, until }: {
    scenarios: Scenario[];
    executions: Execution[];
    until: string;
  },
): Baseline {
  const statuses = new Map(executions.map(({ scenario_id, status }) => [scenario_id, status]));
  const having = (...wanted: string[]) =>
    scenarios.filter(({ scenario_id }) => wanted.includes(statuses.get(scenario_id) ?? ""));
  const tried = new Set(having("passed", "failed").map(fingerprintOf));
  const untried = baseline.accepted.filter(({ fingerprint }) => !tried.has(fingerprint));
  const known = new Map(baseline.accepted.map((one) => [one.fingerprint, one]));
  const failed = having("failed").map((one) => {
    const fingerprint = fingerprintOf(one);
    return known.get(fingerprint) ?? { fingerprint, title: one.title, reason: "", until };
  });
  return { ...baseline, accepted: [...untried, ...failed] };
}

/** @throws ToolError when it cannot be written */
export function writeBaseline(path: string, baseline: Baseline): void {
  try {
    writeFileSync(path, `${JSON.stringify(baseline, null, 2)}\n`);
  } catch (cause) {
    throw new ToolError(`Cannot write the baseline "${path}": ${(cause as Error).message}`, {
      cause,
    });
  }
}
