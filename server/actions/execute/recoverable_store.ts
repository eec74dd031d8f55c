import type { Ledger } from "../../db/ledger.ts";
import { RARE } from "../../db/ledger_migrations.ts";

/** How many other rollbacks of an action a proof has permitted. Each proof is for one. */
export async function countRollbacks(
  ledger: Ledger,
  { rollback_of, nonce, but }: { rollback_of: string; nonce: string; but: string },
): Promise<number> {
  // Policy's approvals carry no proof, and the index by type leaves them out. Most other events are
  // left out before their JSON is parsed.
  const rows = await ledger.all(
    `SELECT count(DISTINCT action_id) AS count FROM audit
      WHERE project_id = ? AND type = 'action.approved' AND ${RARE.type}
        AND action_id <> ? AND instr(data, ?) > 0
        AND data ->> '$.rollback_of' = ? AND data ->> '$.proof.challenge.nonce' = ?`,
    [ledger.project_id, but, nonce, rollback_of, nonce],
  );
  return Number(rows[0]?.count);
}
