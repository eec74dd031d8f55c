import type { NewEvent, Statement } from "../db/ledger.ts";
import { BY_SYSTEM, eventOf, loadAction } from "./record.ts";
import type { ActionServices } from "./services.ts";
import { type ActionRow, updateAction } from "./store.ts";

/** A chain of rollbacks of rollbacks is not followed further than this. */
const MAX_CHAIN = 1_000;

/**
 * What a rollback that succeeded means for the actions behind it: the one it undid is rolled back;
 * where that one was a rollback itself, the action it had undone stands again, and so on.
 */
export async function undoneOf(
  services: ActionServices,
  rollback: ActionRow,
): Promise<{ statements: Statement[]; events: NewEvent[] }> {
  const statements: Statement[] = [];
  const events: NewEvent[] = [];
  let undone = true;
  let at = rollback;
  for (let depth = 0; at.rollback_of !== null && depth < MAX_CHAIN; depth++) {
    const behind = await loadAction(services, at.rollback_of);
    statements.push(updateAction(
      services.project_id,
      behind.id,
      { status: undone ? "rolled_back" : "approved" },
      { status: undone ? "approved" : "rolled_back" },
    ));
    if (depth === 0) {
      const by = { rollback: rollback.id, by: rollback.decided_by, reason: rollback.reason };
      events.push(eventOf(behind, "action.rolled_back", BY_SYSTEM, by));
    }
    undone = !undone;
    at = behind;
  }
  return { statements, events };
}
