import { dirname, sep } from "node:path";
import type { AuditEvent } from "../../evidence/schema.ts";
import { type ActionServices, loadAction, messageOf } from "../context.ts";
import type { Plan } from "../plan.ts";
import { whyNotRunning } from "../review/approval.ts";
import { whyNotAsLogged } from "../rollback/as_logged.ts";
import { faultOfPlan } from "../rollback/plan_rollback.ts";
import type { ActionRow } from "../store.ts";
import type { IntentRow } from "./intents_store.ts";
import { countRollbacks } from "./recoverable_store.ts";

/**
 * Why an action that is recorded as running must not be recovered by its files; null if it may. Rows
 * alone are no execution, because every program of the same user can write them: the log must show
 * the approval and the start, and the intents must be the changes of the plan.
 */
export async function whyNotRecoverable(
  services: ActionServices,
  row: ActionRow,
  intents: readonly IntentRow[],
): Promise<string | null> {
  try {
    return await whyNotRunning(
      services,
      row,
      (approved) => faultOfRollback(services, row, approved),
    ) ??
      (areOf(row.plan!, intents) ? null : "its recorded changes are not those of its plan");
  } catch (error) {
    return `it cannot be checked: ${messageOf(error)}`;
  }
}

/** The name of the temporary file of an intent. */
export function temporaryOf(intent_id: string): string {
  return `.gate-${intent_id.replaceAll("-", "")}`;
}

/** Why a person's proof of a rollback is not for this one; null if it is. The proof itself has been checked. */
async function faultOfRollback(
  services: ActionServices,
  { id, rollback_of, plan }: ActionRow,
  { data }: AuditEvent,
): Promise<string | null> {
  const other = "it is for another rollback";
  if (rollback_of === null || data.rollback_of !== rollback_of) return other;
  const { challenge } = data.proof as { challenge: { nonce: string } };
  const { nonce } = challenge;
  if (await countRollbacks(services.ledger, { rollback_of, nonce, but: id }) > 0) {
    return "it was used already";
  }
  const original = await loadAction(services, rollback_of);
  const asked = data.asked as { action_id?: unknown; digest?: unknown };
  const isSigned = asked.action_id === undefined || asked.digest === original.digest;
  if (!isSigned || await whyNotAsLogged(services, original) !== null) return other;
  return await faultOfPlan(services, original, plan!);
}

/** Whether there is one intent for each change, with the names that gate gives. */
function areOf({ changes }: Plan, intents: readonly IntentRow[]): boolean {
  const planned = new Map(changes.map((change) => [change.path, change]));
  if (intents.length !== changes.length || planned.size !== changes.length) return false;
  return intents.every(({ id, path, before_sha256, after_sha256, data }) => {
    const change = planned.get(path);
    planned.delete(path);
    if (!change || !UUID.test(id)) return false;
    const { before, after } = change;
    return before_sha256 === (before?.sha256 ?? null) && after_sha256 === (after?.sha256 ?? null) &&
      data.before_mode === (before?.mode ?? null) && data.mode === (after?.mode ?? null) &&
      data.temporary === temporaryOf(id) &&
      data.new_folders.every((folder) => isAbove(folder, path));
  });
}

function isAbove(folder: string, path: string): boolean {
  return dirname(path) === folder || path.startsWith(`${folder}${sep}`);
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
