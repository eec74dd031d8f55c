import { isLoginPath } from "../generate/names.ts";
import type { Execution, Scenario } from "../schema.ts";
import { isSuccess } from "./http.ts";

/** How an operation was answered. A pass of its scenarios rests on one success. */
export interface Control {
  succeeded: boolean;
  /** Why it never succeeded, with the next step; "" when it did. */
  reason: string;
  /** The request that succeeded; null without one. */
  by: ControlRequest | null;
}

/** The request that a pass rests on. */
export interface ControlRequest {
  /** `rehearsal`, or the scenario that sent it. */
  in: string;
  /** Its place in the ledger of that scenario; left out for its only request. */
  id?: string;
  status: number;
}

/** The controls of a run, by operation (`GET /path`). */
export type Controls = Map<string, Control>;

/**
 * The execution, with the request that its pass rests on as `evidence.control`. Inconclusive instead
 * of passed where its operation never succeeded, or where the scenario was refused for another
 * reason: a refusal of everything proves nothing. Learns from each 2xx.
 */
export function withControl(
  execution: Execution,
  scenario: Scenario,
  controls: Controls,
): Execution {
  const name = String(scenario.operation);
  const known = controls.get(name);
  if (!known) return execution;
  const by = known.by ?? successIn(execution, scenario);
  const learns = known.by === null && execution.status !== "failed";
  if (by !== null && learns) controls.set(name, { succeeded: true, reason: "", by });
  if (execution.status !== "passed") return execution;
  if (by === null) return untested(execution, `${name} never succeeded`);
  const status = unreadStatus(scenario, execution);
  if (status !== null) {
    return untested(execution, `${name} answered ${status}, after it had succeeded`);
  }
  return { ...execution, evidence: { ...execution.evidence, control: by } };
}

function untested(execution: Execution, why: string): Execution {
  return { ...execution, status: "inconclusive", reason: `Not tested: ${why}` };
}

/** The first 2xx to the scenario's operation. */
function successIn(execution: Execution, scenario: Scenario): ControlRequest | null {
  const { scenario_id, evidence } = execution;
  const { race, ledger = [] } = evidence as { race?: Answered; ledger?: Answered[] };
  const own = [statusOf(execution), ...(race?.shots ?? []).map(({ status }) => status)];
  const status = own.find(isSuccess);
  if (status) return { in: scenario_id, status };
  for (const entry of ledger) {
    const won = [entry.status, ...(entry.statuses ?? [])].find(isSuccess);
    if (won && isOn(String(scenario.operation), entry)) {
      return { in: scenario_id, id: entry.id, status: won };
    }
  }
  return null;
}

/** The evidence of one request or volley, in short. */
interface Answered {
  id?: string;
  method?: string;
  path?: string;
  status?: number | null;
  statuses?: (number | null)[] | null;
  shots?: { status: number | null }[];
}

/** True for a request to this operation (`GET /things/{id}`). */
function isOn(operation: string, { method = "", path = "" }: Answered): boolean {
  const [verb = "", template = ""] = operation.split(/ (.*)/s);
  const parts = (text: string) => text.replace(/[?#].*$/s, "").replace(/\/$/, "").split("/");
  const [wanted, sent] = [parts(template), parts(path)];
  return verb === method && wanted.length === sent.length &&
    wanted.every((part, n) => part === sent[n] || /\{[^{}]+\}/.test(part));
}

/** Statuses that a service sends before it looks at a request, and not because of it. */
const UNREAD = [401, 429];

/**
 * The status of a pass by answers that looked at nothing: a good case that was refused, because what
 * it needs was used up meanwhile, or anything else where it is not the refusal that is right.
 */
function unreadStatus(scenario: Scenario, { evidence }: Execution): number | null {
  const { exec, family, operation, playbook } = scenario;
  const { ledger = [] } = evidence as { ledger?: Answered[] };
  const statuses = exec ? [evidence.response] as (Answered | undefined)[] : ledger;
  const [first] = statuses;
  const status = first?.status ?? null;
  if (status === null) return null;
  // Only answers that succeed can hold it.
  if (family === "good_case" || family === "secrets_shown") return status >= 400 ? status : null;
  const { steps = [] } = (playbook ?? {}) as { steps?: Record<string, unknown>[] };
  const isRight = exec?.expected_status === status || exec?.expected_end === "denied" ||
    steps.some(({ attempts, denied }) => attempts !== undefined || denied === true);
  // A login looks at what it refuses.
  const unread = isLoginPath(String(operation)) ? [429] : UNREAD;
  const isAll = statuses.every((one) => unread.includes(one?.status ?? 0));
  return isAll && !isRight ? status : null;
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

function statusOf({ evidence }: Execution): number | null {
  return (evidence.response as { status?: number } | undefined)?.status ?? null;
}
