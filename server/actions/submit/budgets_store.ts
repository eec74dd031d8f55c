import type { Ledger } from "../../db/ledger.ts";
import { OF_SESSION } from "../../db/projections.ts";
import type { PlannedChange } from "../plan.ts";

/** The changes of one action that is no longer held, and who decided on it. */
export interface Spending {
  seq: number;
  decided_by: string;
  /** The list of the rule that decided. */
  rule: string | null;
  changes: Pick<PlannedChange, "path" | "before" | "after">[];
  /** Of a host's own command, whose effects are only foreseen. */
  writes: string[];
  deletes: string[];
}

/** A page of the approved actions of a session, newest first. */
export async function listSpending(
  ledger: Ledger,
  session_id: string,
  { before, limit }: { before: number; limit: number },
): Promise<Spending[]> {
  const rows = await ledger.all(
    `SELECT seq, decided_by, json_extract(decision, '$.rule.list') AS rule,
        json_extract(input, '$.changes') AS changes,
        CASE WHEN json_extract(input, '$.native.id') IS NULL THEN NULL ELSE analysis END AS analysis
      FROM ${OF_SESSION} WHERE place < ? AND status IN ('approved', 'rolled_back')
      ORDER BY place DESC LIMIT ?`,
    [ledger.project_id, session_id, before, limit],
  );
  return rows.map(({ seq, decided_by, rule, changes, analysis }) => {
    const known = JSON.parse(String(changes ?? "[]")) as Spending["changes"];
    const foreseen = analysis === null || known.length > 0 ? {} : JSON.parse(String(analysis));
    return {
      seq: Number(seq),
      decided_by: String(decided_by),
      rule: rule === null ? null : String(rule),
      changes: known,
      writes: foreseen?.writes ?? [],
      deletes: foreseen?.deletes ?? [],
    };
  });
}
