import type { Ledger } from "../db/ledger.ts";
import { PolicyHit } from "./schema.ts";
import { countHits } from "./store.ts";

/** How often each rule has decided, the busiest first. */
export async function listHits(ledger: Ledger): Promise<PolicyHit[]> {
  const rows = await countHits(ledger);
  return rows.map(({ pattern, list, source, last_hit_at, ...counts }) =>
    PolicyHit.parse({
      rule: { pattern, list, source },
      last_hit_at,
      ...Object.fromEntries(Object.entries(counts).map(([name, value]) => [name, Number(value)])),
    })
  );
}
