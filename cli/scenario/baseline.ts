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
type Baseline = z.infer<typeof Baseline>;

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

/** Accepts what failed now until `until`; what was accepted before keeps its day and reason. */
export function writeBaseline(
  path: string,
  baseline: Baseline,
  run: { scenarios: Scenario[]; executions: Execution[]; until: string },
): void {
  const failed = new Set(
    run.executions.filter(({ status }) => status === "failed").map((one) => one.scenario_id),
  );
  const known = new Map(baseline.accepted.map((one) => [one.fingerprint, one]));
  const accepted = run.scenarios.filter(({ scenario_id }) => failed.has(scenario_id)).map((one) => {
    const fingerprint = fingerprintOf(one);
    return known.get(fingerprint) ??
      { fingerprint, title: one.title, reason: "", until: run.until };
  });
  writeFileSync(path, `${JSON.stringify({ ...baseline, accepted }, null, 2)}\n`);
}
