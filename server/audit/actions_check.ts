import { setImmediate } from "node:timers/promises";
import type { Ledger } from "../db/ledger.ts";
import type { Problem } from "../evidence/check.ts";
import type { AuditEvent } from "../evidence/schema.ts";
import {
  isRolledBack,
  listMissing,
  listRecorded,
  type Recorded,
  type StoredAction,
  type StoredStep,
} from "./actions_store.ts";

/** So few that a page holds the event loop for a few milliseconds. */
const PAGE = 40;
/** An action that changes during the check is read again. */
const MAX_READS = 5;

/** The first action whose row differs from its events. The events must be checked before. */
export async function checkActions(ledger: Ledger): Promise<Problem | null> {
  for (let after = 0;;) {
    const page = await listRecorded(ledger, after, PAGE);
    for (const one of page) {
      const problem = await problemOf(ledger, one);
      if (problem) return problem;
    }
    if (page.length < PAGE) return null;
    after = page.at(-1)!.number;
    await setImmediate();
  }
}

/** The first of these events that submits an action without a row. */
export async function checkSubmitted(
  ledger: Ledger,
  events: readonly AuditEvent[],
): Promise<Problem | null> {
  const submitted = events.filter(({ type, action_id }) =>
    type === "action.submitted" && action_id !== null
  );
  const [id] = await listMissing(ledger, submitted.map(({ action_id }) => action_id!));
  if (id === undefined) return null;
  const { seq } = submitted.find(({ action_id }) => action_id === id)!;
  return { seq, what: `action "${id}" of event ${seq} is missing from the actions` };
}

async function problemOf(ledger: Ledger, first: Recorded): Promise<Problem | null> {
  const { number } = first;
  let one: Recorded | undefined = first;
  for (let reads = 1; one; reads++) {
    const { seq } = ledger.head;
    const problem = await compare(ledger, one);
    if (problem === null || (reads > 1 && ledger.head.seq === seq) || reads === MAX_READS) {
      return problem;
    }
    [one] = await listRecorded(ledger, number - 1, 1);
    if (one?.number !== number) return problem;
  }
  return null;
}

async function compare(ledger: Ledger, { recorded, number }: Recorded): Promise<Problem | null> {
  if (recorded === null) return { seq: null, what: `the row ${number} of the actions is damaged` };
  const { action, steps } = recorded;
  const newest = steps.at(-1);
  if (!newest) return { seq: null, what: `action "${action.id}" has no event` };
  const expected = expectedOf(steps);
  if (expected.status === "rolled_back" && !await isRolledBack(ledger, action.id)) {
    expected.status = "approved";
  }
  // Nobody reports the outcome of a tool that the gate does not know.
  const isUnreported = expected.status === "approved" && expected.execution === "none" &&
    action.execution === "unknown";
  if (isUnreported) expected.execution = "unknown";
  for (const [name, value] of Object.entries(expected)) {
    const found = action[name as keyof StoredAction];
    if (found === value) continue;
    const what = `action "${action.id}" has the ${name} ${shown(found)}, but its events say ` +
      shown(value);
    return { seq: newest.seq, what };
  }
  return null;
}

type Expected = Partial<Omit<StoredAction, "id">>;

const STATUSES: Record<string, string> = {
  "action.approved": "approved",
  "action.rejected": "rejected",
  "action.expired": "expired",
  "action.cancelled": "cancelled",
};

/** The fields of the row after these events. */
function expectedOf(steps: readonly StoredStep[]): Expected {
  const expected: Expected = { execution: "none", exit_code: null, decided_by: null };
  for (const { type, actor, status, execution, exit_code, digest } of steps) {
    if (digest !== null && type !== "action.finished") expected.digest = digest;
    // A vote may be about an edited version, and decides nothing by itself.
    if (type === "vote.cast") continue;
    if (type === "action.submitted") expected.status = status ?? "pending";
    else if (type === "action.rolled_back") expected.status = "rolled_back";
    else if (type === "action.started") expected.execution = "running";
    else if (type === "action.finished") {
      if (execution !== null) expected.execution = execution;
      if (exit_code !== null) expected.exit_code = JSON.parse(exit_code) as number | null;
    } else {
      expected.status = status ?? STATUSES[type]!;
      expected.decided_by = type === "action.expired" ? "system" : actor.id;
    }
  }
  return expected;
}

function shown(value: unknown): string {
  return value === null ? "none" : JSON.stringify(value);
}
