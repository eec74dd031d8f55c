import type { AuditEvent } from "../../evidence/schema.ts";
import { elsewhere } from "../../db/elsewhere.ts";
import type { ActionContext } from "../context.ts";
import { findAction } from "../store.ts";
import { executorOf } from "../tools.ts";
import { executeApproved } from "./execute.ts";

/**
 * Takes over what other machines that share the ledger have committed: this one executes what they
 * approved for its own agents. Returns at once.
 */
export function hearOthers(context: ActionContext, events: readonly AuditEvent[]): void {
  const { openings } = context.services;
  for (const { type, action_id, session_id } of events) {
    if (type === "wall.closed" && session_id !== null) openings.forget(session_id);
    if (type === "action.approved" && action_id !== null) void takeUp(context, action_id);
  }
}

async function takeUp(context: ActionContext, id: string): Promise<void> {
  const { services } = context;
  const { ledger, environment } = services;
  try {
    const row = await findAction(ledger, id);
    if (row?.status !== "approved" || await elsewhere(ledger, row.session_id) !== null) return;
    if (row.decided_by !== "policy") services.budgets.renew(row);
    // Of two that take it up, the compare-and-set of the start lets one through.
    const isWaiting = row.execution === "none" && executorOf(row) === "gate";
    if (isWaiting) await executeApproved(context, row);
  } catch (error) {
    // The next opening of the ledger takes it up again.
    environment.log("error", "Cannot execute an action that another machine approved", {
      action_id: id,
      error: String(error),
    });
  }
}
