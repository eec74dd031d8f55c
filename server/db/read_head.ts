import { GENESIS, type Head } from "../evidence/chain.ts";
import type { LedgerDatabase } from "./database.ts";

/** The newest event of a project's chain. */
export async function readHead(
  database: Pick<LedgerDatabase, "all">,
  project_id: string,
): Promise<Head> {
  const rows = await database.all(
    // As bytes: libSQL ends the process for a text that is not UTF-8, which a check must report.
    "SELECT seq, CAST(hash AS BLOB) AS hash FROM audit WHERE project_id = ? ORDER BY seq DESC LIMIT 1",
    [project_id],
  );
  const row = rows[0];
  if (!row) return GENESIS;
  return { seq: Number(row.seq), hash: new TextDecoder().decode(row.hash as Uint8Array) };
}
