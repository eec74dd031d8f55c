import type { Ledger } from "../../db/ledger.ts";

/** How many other rollbacks of an action a proof has permitted. Each proof is for one. */
export async function countRollbacks(
  ledger: Ledger,
  { rollback_of, nonce, but }: { rollback_of: string; nonce: string; but: string },
): Promise<number> {
  // Most events are left out before their JSON is parsed.
  const rows = await ledger.all(
    `SELECT count(DISTINCT action_id) AS count FROM audit
      WHERE project_id = ? AND type = 'action.approved' AND action_id <> ? AND instr(data, ?) > 0
        AND data ->> '$.rollback_of' = ? AND data ->> '$.proof.challenge.nonce' = ?`,
    [ledger.project_id, but, nonce, rollback_of, nonce],
  );
  return Number(rows[0]?.count);
}
