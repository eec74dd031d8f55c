import type { Ledger, Row } from "../db/ledger.ts";

/** How many of the newest actions are counted: a bound on what one request may read. */
const MOST_ACTIONS = 20_000;

/** One row for each rule that has decided, counted over the newest actions. */
export function countHits(ledger: Ledger): Promise<Row[]> {
  return ledger.all(
    `SELECT pattern, list, source, COUNT(*) AS count, MAX(created_at) AS last_hit_at,
       SUM(effect = 'allow') AS allow, SUM(effect = 'ask') AS ask, SUM(effect = 'deny') AS deny,
       SUM((effect = 'ask' AND status IN ('approved', 'rolled_back'))
         OR (effect = 'allow' AND status = 'rolled_back')) AS overruled
     FROM (SELECT created_at, status, json_extract(decision, '$.effect') AS effect,
         json_extract(decision, '$.rule.pattern') AS pattern,
         json_extract(decision, '$.rule.list') AS list,
         json_extract(decision, '$.rule.source') AS source
       FROM actions WHERE project_id = ? ORDER BY seq DESC LIMIT ${MOST_ACTIONS})
     WHERE pattern IS NOT NULL
     GROUP BY pattern, list, source ORDER BY count DESC, pattern LIMIT 500`,
    [ledger.project_id],
  );
}
