import { type ActionRow, COLUMNS, toRow } from "../../actions/store.ts";
import type { Ledger } from "../../db/ledger.ts";

/** At most `limit` recorded actions from one place in the ledger to below another, newest first. */
export async function listRecorded(
  ledger: Ledger,
  { from, before, limit }: { from: number; before: number; limit: number },
): Promise<ActionRow[]> {
  const rows = await ledger.all(
    `SELECT ${COLUMNS} FROM actions INDEXED BY actions_by_seq
      WHERE project_id = ? AND seq >= ? AND seq < ? ORDER BY seq DESC LIMIT ?`,
    [ledger.project_id, from, before, limit],
  );
  return rows.map(toRow);
}
