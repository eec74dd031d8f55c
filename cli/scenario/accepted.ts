import { resolve } from "node:path";
import {
  acceptedBy,
  type Baseline,
  endedFor,
  readBaseline,
  updateBaseline,
  writeBaseline,
} from "./baseline.ts";
import { ToolError } from "./errors.ts";
import type { ScenarioIo } from "./io.ts";
import type { Execution, Scenario } from "./schema.ts";

/** The flags of `run` that speak of a baseline. */
export interface BaselineOptions {
  baseline?: string;
  baselineUpdate?: true;
}

/** The baseline of a run. */
export interface Accepted {
  path: string;
  baseline: Baseline;
  /** What fails now is accepted too. */
  update: boolean;
}

/**
 * Read before anything is sent: a broken one must not cost the run its results.
 * @throws ToolError
 */
export function openBaseline(options: BaselineOptions, io: ScenarioIo): Accepted | null {
  const { baseline: file, baselineUpdate: update = false } = options;
  if (file === undefined) {
    if (!update) return null;
    throw new ToolError("Cannot use --baseline-update: there is no --baseline to write to", {
      next: "--baseline baseline.json --baseline-update",
    });
  }
  const path = resolve(io.cwd, file);
  return { path, baseline: readBaseline(path), update };
}

/** Accepted failures stay failures, with who accepted them until when; new ones can be added. */
export function acceptFailures(
  scenarios: Scenario[],
  executions: Execution[],
  { path, baseline, update }: Accepted,
): Execution[] {
  const [today, until] = [day(Date.now()), day(Date.now() + ACCEPTED_MS)];
  const current = update && executions.length > 0
    ? updateBaseline(baseline, { scenarios, executions, until })
    : baseline;
  if (current !== baseline) writeBaseline(path, current);
  const accepted = acceptedBy(current, scenarios, today);
  const ended = endedFor(current, scenarios, today);
  return executions.map((execution) => {
    if (execution.status !== "failed") return execution;
    const entry = accepted.get(execution.scenario_id);
    if (entry) return { ...execution, evidence: { ...execution.evidence, accepted: entry } };
    const until = ended.get(execution.scenario_id);
    return until === undefined
      ? execution
      : { ...execution, reason: `${execution.reason}; it was accepted until ${until}` };
  });
}

/** A failure is accepted for 90 days, then somebody has to look at it again. */
const ACCEPTED_MS = 90 * 86_400_000;

function day(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}
