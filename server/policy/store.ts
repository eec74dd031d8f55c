import type { Ledger } from "../db/ledger.ts";
import { PolicyHit } from "./schema.ts";

/** How often each rule decided, over the whole ledger; the most frequent first. */
export async function listHits(ledger: Ledger): Promise<PolicyHit[]> {
  const rows = await ledger.all(
    `SELECT pattern, list, source, allow + ask + deny AS count, last_hit_at, allow, ask, deny,
       overruled
     FROM rule_hits WHERE project_id = ? AND list <> ''
     ORDER BY count DESC, pattern LIMIT 500`,
    [ledger.project_id],
  );
  return rows.map(({ pattern, list, source, last_hit_at, ...counts }) =>
    PolicyHit.parse({
      rule: { pattern, list, source },
      last_hit_at,
      ...Object.fromEntries(Object.entries(counts).map(([name, value]) => [name, Number(value)])),
    })
  );
}
