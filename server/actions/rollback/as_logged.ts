import { resolve } from "node:path";
import { listOfAction } from "../../audit/store.ts";
import { resolvePath } from "../../runtime/real_path.ts";
import type { ActionServices } from "../context.ts";
import { type AuditedChange, MAX_AUDITED } from "../effects/outcome.ts";
import type { Plan } from "../plan.ts";
import { isWhole } from "../review/approval.ts";
import type { ActionRow } from "../store.ts";
import { executorOf } from "../tools.ts";

/**
 * Why the recorded changes of an action are not those that the log shows; null if they are. Its row
 * alone is no reason to write files: every program of the same user can change it, and on a server
 * every machine that shares the ledger. Events of an older gate that name no changes are believed.
 */
export async function whyNotAsLogged(
  { ledger }: ActionServices,
  row: ActionRow,
): Promise<string | null> {
  const { plan, root, digest } = row;
  const changed = "its recorded changes are not those in the log";
  if (!plan || !isWhole(row, plan)) return changed;
  const events = await listOfAction(ledger, row.id);
  if (executorOf(row) === "gate") {
    const named = events.findLast(({ type, data }) =>
      type !== "vote.cast" && type !== "action.finished" && typeof data.digest === "string"
    );
    return named && named.data.digest !== digest ? changed : null;
  }
  const end = events.findLast(({ data }) => Array.isArray(data.changes));
  return !end || isLogged(plan, end.data.changes as AuditedChange[], root) ? null : changed;
}

/** The log names the first ones of many changes. */
function isLogged({ changes }: Plan, logged: readonly AuditedChange[], root: string): boolean {
  if (changes.length > logged.length && logged.length < MAX_AUDITED) return false;
  return logged.every(({ path, real, before_sha256, after_sha256 }, at) => {
    const change = changes[at];
    return change !== undefined &&
      change.path === (real ?? resolvePath(resolve(root, path)).real) &&
      (change.before?.sha256 ?? null) === before_sha256 &&
      (change.after?.sha256 ?? null) === after_sha256;
  });
}
