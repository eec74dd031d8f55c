import { dirname } from "node:path";
import type { NewEvent, Statement } from "../db/ledger.ts";
import { missingFolders } from "../runtime/folder.ts";
import { insertIntents, type IntentRow } from "./journal/store.ts";
import type { PlannedChange } from "./plan.ts";
import { BY_SYSTEM, eventOf } from "./record.ts";
import type { NewRow } from "./rows.ts";
import { type ActionServices, timestamp } from "./services.ts";
import { type ActionRow, insertAction, toInserted, whereStands } from "./store.ts";

/** What a row that begins at once has to be committed with: its start and its intents. */
export function startOf(services: ActionServices, row: NewRow) {
  const { environment, project_id } = services;
  const claim_id = environment.id();
  const started_at = timestamp(environment);
  const intents = (row.plan?.changes ?? []).map((change) =>
    intentOf(row, change, environment.id())
  );
  const of = { action_id: row.id, digest: row.digest, claim_id, created_at: started_at };
  const statements = insertIntents(project_id, intents, of);
  return { fields: { execution: "running" as const, claim_id, started_at }, intents, statements };
}

/**
 * Records an action together with its start, in one commit before any file is touched; null where
 * the condition `only` did not hold.
 */
export async function recordStarted(
  services: ActionServices,
  row: NewRow,
  contents: Statement[],
  { events, only }: { events: NewEvent[]; only?: Statement },
): Promise<{ started: ActionRow | null; intents: IntentRow[] }> {
  const { fields, intents, statements } = startOf(services, row);
  const begun = { ...row, ...fields };
  const { rows } = await services.ledger.commit({
    statements: [...contents, insertAction(begun, only), ...statements],
    events: [...events, eventOf(begun, "action.started", BY_SYSTEM)],
    when: whereStands(services.project_id, row.id, { claim_id: fields.claim_id }),
  });
  return { started: toInserted(begun, rows[contents.length]?.[0]), intents };
}

function intentOf(row: NewRow, change: PlannedChange, id: string): IntentRow {
  const { path, before, after } = change;
  return {
    id,
    action_id: row.id,
    path,
    before_sha256: before?.sha256 ?? null,
    after_sha256: after?.sha256 ?? null,
    state: "open",
    data: {
      mode: after?.mode ?? null,
      before_mode: before?.mode ?? null,
      temporary: `.gate-${id.replaceAll("-", "")}`,
      new_folders: after ? missingFolders(dirname(path)) : [],
    },
  };
}
