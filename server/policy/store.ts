import type { Ledger, Row } from "../db/ledger.ts";

/** One row for each rule that has decided, over the whole ledger; the busiest first. */
export function countHits(ledger: Ledger): Promise<Row[]> {
  return ledger.all(
    `SELECT pattern, list, source, allow + ask + deny AS count, last_hit_at, allow, ask, deny,
       overruled
     FROM rule_hits WHERE project_id = ? AND list <> ''
     ORDER BY count DESC, pattern LIMIT 500`,
    [ledger.project_id],
  );
}
