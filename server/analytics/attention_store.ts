import type { Ledger } from "../db/ledger.ts";

/** One decision of a person, with the length of what there was to read. */
export interface PersonalDecision {
  seq: number;
  reviewer: string;
  status: string;
  level: string;
  created_at: string;
  decided_at: string;
  /** Characters of the command or of the new content, in bytes. */
  length: number;
}

/** A page of the decisions of people, newest action first. */
export async function listDecisions(
  ledger: Ledger,
  since: string,
  { before, limit }: { before: number; limit: number },
): Promise<PersonalDecision[]> {
  const rows = await ledger.all(
    `SELECT seq, decided_by AS reviewer, status, json_extract(risk, '$.level') AS level,
        created_at, decided_at, coalesce(length(command), 0) + coalesce(bytes, 0) AS length
      FROM actions WHERE project_id = ? AND seq < ? AND created_at >= ?
        AND status IN ('approved', 'rejected', 'rolled_back') AND rollback_of IS NULL
        AND decided_by NOT IN ('policy', 'system') AND decided_at IS NOT NULL
      ORDER BY seq DESC LIMIT ?`,
    [ledger.project_id, before, since, limit],
  );
  return rows.map((row) => ({
    ...row,
    seq: Number(row.seq),
    length: Number(row.length),
  })) as unknown as PersonalDecision[];
}
