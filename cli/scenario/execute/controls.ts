import type { Execution, Scenario } from "../schema.ts";
import { isSuccess } from "./http.ts";

/** How an operation was answered. A pass of its scenarios rests on one success. */
export interface Control {
  succeeded: boolean;
  /** Why it never succeeded, with the next step; "" when it did. */
  reason: string;
}

/** The controls of a run, by operation (`GET /path`). */
export type Controls = Map<string, Control>;

/**
 * The execution, inconclusive instead of passed where its operation never succeeded: a refusal of
 * everything proves nothing. Learns from each 2xx.
 */
export function withControl(
  execution: Execution,
  scenario: Scenario,
  controls: Controls,
): Execution {
  const name = String(scenario.operation);
  const control = controls.get(name);
  if (!control) return execution;
  if (control.succeeded) return isLost(execution, scenario) ? lost(execution, name) : execution;
  if (scenario.family === "good_case" && isSuccess(statusOf(execution))) {
    controls.set(name, { succeeded: true, reason: "" });
    return execution;
  }
  if (execution.status !== "passed" || hasOwnControl(scenario)) return execution;
  return { ...execution, status: "inconclusive", reason: `Not tested: ${name} never succeeded` };
}

/** True for a good case that passed by a refusal: what it needs was used up or deleted meanwhile. */
function isLost(execution: Execution, { family }: Scenario): boolean {
  const status = statusOf(execution) ?? 0;
  return family === "good_case" && execution.status === "passed" && status >= 400;
}

function lost(execution: Execution, name: string): Execution {
  const reason = `Not tested: ${name} answered ${statusOf(execution)}, after it had succeeded`;
  return { ...execution, status: "inconclusive", reason };
}

/** The operations of these scenarios that never succeeded, each once. */
export function untestedOf(
  scenarios: readonly Scenario[],
  controls: Controls = new Map(),
): { operation: string; reason: string }[] {
  const names = [...new Set(scenarios.map(({ operation }) => String(operation)))].sort();
  return names.flatMap((operation) => {
    const control = controls.get(operation);
    return control && !control.succeeded ? [{ operation, reason: control.reason }] : [];
  });
}

/** A playbook that sends a good case of its own, or compares refusals, needs no other control. */
function hasOwnControl({ playbook }: Scenario): boolean {
  const { steps = [] } = (playbook ?? {}) as { steps?: Record<string, unknown>[] };
  return steps.some((one) => one.setup || one.control || one.tells_apart !== undefined);
}

function statusOf({ evidence }: Execution): number | null {
  return (evidence.response as { status?: number } | undefined)?.status ?? null;
}
