import type { Ledger } from "../db/ledger.ts";

/** One decision of a person, with the length of what there was to read. */
export interface PersonalDecision {
  /** The sequence number of the action, or of the event of a vote. */
  seq: number;
  reviewer: string;
  status: string;
  level: string;
  created_at: string;
  decided_at: string;
  /** Characters of the command or of the new content, in bytes. */
  length: number;
}

/** Which rows a page has: those before this sequence number, so many. */
export interface PageBefore {
  before: number;
  limit: number;
}

/** A page of the decisions of people, newest action first. */
export async function listDecisions(
  ledger: Ledger,
  since: string,
  { before, limit }: PageBefore,
): Promise<PersonalDecision[]> {
  const rows = await ledger.all(
    `SELECT seq, decided_by AS reviewer, status, json_extract(risk, '$.level') AS level,
        created_at, decided_at, coalesce(length(command), 0) + coalesce(bytes, 0) AS length
      FROM actions NOT INDEXED WHERE project_id = ? AND number < ? AND decided_at >= ?
        AND status IN ('approved', 'rejected', 'rolled_back') AND rollback_of IS NULL
        AND decided_by NOT IN ('policy', 'system') AND decided_at IS NOT NULL
      ORDER BY number DESC LIMIT ?`,
    [ledger.project_id, before, since, limit],
  );
  return rows.map(toDecision);
}

/** A page of the approvals that did not decide, because a route asked more people; newest first. */
export async function listVotes(
  ledger: Ledger,
  since: string,
  { before, limit }: PageBefore,
): Promise<PersonalDecision[]> {
  const rows = await ledger.all(
    `SELECT vote.seq, json_extract(vote.data, '$.member_id') AS reviewer, 'approved' AS status,
        json_extract(risk, '$.level') AS level, created_at, vote.at AS decided_at,
        coalesce(length(command), 0) + coalesce(bytes, 0) AS length
      FROM audit AS vote JOIN actions
        ON actions.project_id = vote.project_id AND actions.id = vote.action_id
      WHERE vote.project_id = ? AND vote.type = 'vote.cast' AND vote.seq < ?
        AND vote.at >= ? AND json_extract(vote.data, '$.verdict') = 'approve'
        AND decided_by IS NOT json_extract(vote.data, '$.member_id')
      ORDER BY vote.seq DESC LIMIT ?`,
    [ledger.project_id, before, since, limit],
  );
  return rows.map(toDecision);
}

function toDecision(row: Record<string, unknown>): PersonalDecision {
  return { ...row, seq: Number(row.seq), length: Number(row.length) } as PersonalDecision;
}
