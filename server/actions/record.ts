import type { Caller } from "../auth/schema.ts";
import type { NewEvent } from "../db/ledger.ts";
import { GateError } from "../errors.ts";
import type { ActionServices } from "./services.ts";
import { type ActionRow, findAction } from "./store.ts";

type Actor = NewEvent["actor"];

export const BY_POLICY: Actor = { kind: "policy", id: "policy" };
export const BY_SYSTEM: Actor = { kind: "system", id: "gate" };

/** @throws GateError `not_found` */
export async function loadAction(services: ActionServices, id: string): Promise<ActionRow> {
  const row = /^[0-9a-f-]{36}$/.test(id) ? await findAction(services.ledger, id) : null;
  if (row) return row;
  const shown = JSON.stringify(id.toWellFormed().slice(0, 100));
  throw new GateError("not_found", `Cannot find action ${shown} in this project`);
}

/** An audit event about an action. */
export function eventOf(
  row: Pick<ActionRow, "id" | "session_id">,
  type: NewEvent["type"],
  actor: Actor,
  data: Record<string, unknown> = {},
): NewEvent {
  return { session_id: row.session_id, action_id: row.id, type, actor, data };
}

/** Who stands behind a call, in the audit chain. */
export function actorOf(caller: Caller, agent: string): Actor {
  return caller.scope === "agent"
    ? { kind: "agent", id: agent }
    : { kind: "reviewer", id: caller.id };
}

/** Nobody decides on their own action: an agent's credential never can. @throws GateError `forbidden` */
export function requireReviewer(caller: Caller, verb: string): void {
  if (caller.scope === "reviewer") return;
  const message = `Cannot ${verb} with a credential of scope "${caller.scope}": ` +
    "a reviewer decides, in the dashboard or with gate approve";
  throw new GateError("forbidden", message);
}

/** @throws GateError `forbidden` */
export function requireNotViewer(caller: Caller, verb: string): void {
  if (caller.scope !== "viewer") return;
  throw new GateError("forbidden", `Cannot ${verb} with a credential that may only look`);
}

/** Somebody or something else was faster, or it is over: says where the action stands. */
export function notPossible(row: ActionRow, verb: string, why: string): GateError {
  const { id, status, execution, decided_by, digest } = row;
  return new GateError("conflict", `Cannot ${verb} action "${id}": ${why}`, {
    fields: { current_status: status, execution, decided_by, digest },
  });
}
