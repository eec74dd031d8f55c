import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { z } from "zod";
import { attempt, CORRECT_IT, GIVE_A_PLACE, ToolError } from "./errors.ts";
import type { RunOptions } from "./options.ts";
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

/** The baseline of a run. */
export interface Accepted {
  path: string;
  baseline: Baseline;
  /** `--baseline-update`: the failures of this run are accepted too. */
  update: boolean;
}

/**
 * Reads the baseline of a run before anything is sent, so that a broken file costs no results.
 * Returns null without `--baseline`. @throws ToolError
 */
export function openBaseline(options: RunOptions, cwd: string): Accepted | null {
  const { baseline: file, baselineUpdate } = options;
  const update = baselineUpdate === true;
  if (file === undefined) {
    if (!update) return null;
    throw new ToolError("Cannot use --baseline-update: there is no --baseline to write to", {
      next: "--baseline baseline.json --baseline-update",
    });
  }
  const path = resolve(cwd, file);
  return { path, baseline: readBaseline(path), update };
}

/**
 * Adds to each accepted failure who accepted it until when; the failure stays a failure. With
 * `update`, first writes the failures of this run into the baseline. @throws ToolError
 */
export function acceptFailures(
  scenarios: Scenario[],
  executions: Execution[],
  { path, baseline, update }: Accepted,
): Execution[] {
  let current = baseline;
  if (update && executions.length > 0) {
    current = updated(baseline, scenarios, executions);
    attempt(
      `write the baseline "${path}"`,
      GIVE_A_PLACE,
      () => writeFileSync(path, `${JSON.stringify(current, null, 2)}\n`),
    );
  }
  const today = day(Date.now());
  const byId = new Map(scenarios.map((scenario) => [scenario.scenario_id, scenario]));
  // Of two entries for one failure the later day counts.
  const sorted = current.accepted.toSorted((a, b) => a.until < b.until ? -1 : 1);
  const entries = new Map(sorted.map((one) => [one.fingerprint, one]));
  return executions.map((execution) => {
    if (execution.status !== "failed") return execution;
    const entry = entries.get(fingerprintOf(byId.get(execution.scenario_id)!));
    if (!entry) return execution;
    const { until, reason = null } = entry;
    return until >= today
      ? { ...execution, evidence: { ...execution.evidence, accepted: { until, reason } } }
      : { ...execution, reason: `${execution.reason}; it was accepted until ${until}` };
  });
}

/** A failure is accepted for 90 days. After that a person has to look at it again. */
const ACCEPTED_MS = 90 * 86_400_000;

/**
 * The baseline with the failures of this run. Known entries keep their day and reason, even expired
 * ones: a person renews them. Entries of scenarios that did not run stay.
 */
function updated(baseline: Baseline, scenarios: Scenario[], executions: Execution[]): Baseline {
  const statuses = new Map(executions.map(({ scenario_id, status }) => [scenario_id, status]));
  const having = (...wanted: string[]) =>
    scenarios.filter(({ scenario_id }) => wanted.includes(statuses.get(scenario_id) ?? ""));
  const tried = new Set(having("passed", "failed").map(fingerprintOf));
  const untried = baseline.accepted.filter(({ fingerprint }) => !tried.has(fingerprint));
  const known = new Map(baseline.accepted.map((one) => [one.fingerprint, one]));
  const until = day(Date.now() + ACCEPTED_MS);
  const failed = having("failed").map((one) => {
    const fingerprint = fingerprintOf(one);
    return known.get(fingerprint) ?? { fingerprint, title: one.title, reason: "", until };
  });
  return { ...baseline, accepted: [...untried, ...failed] };
}

/** Identifies a scenario by what it tests, because its id may change between runs. */
function fingerprintOf({ family, operation, title, exec }: Scenario): string {
  const subject = [family ?? null, operation ?? null, title, exec?.method, exec?.path];
  return createHash("sha256").update(JSON.stringify(subject)).digest("hex").slice(0, 16);
}

/** Reads a baseline. A missing file accepts nothing. @throws ToolError when the file is broken */
function readBaseline(path: string): Baseline {
  if (!existsSync(path)) return { accepted: [] };
  return attempt(`read the baseline "${path}"`, CORRECT_IT, () => {
    const read = Baseline.safeParse(JSON.parse(readFileSync(path, "utf8")));
    if (read.success) return read.data;
    const [issue] = read.error.issues;
    throw new Error(`${issue?.path.join("/")} ${issue?.message}`);
  });
}

function day(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}
