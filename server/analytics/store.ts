import type { Ledger } from "../db/ledger.ts";

export type Kind = "hour" | "blocked_path" | "agent" | "reviewer" | "rule" | "rolled_back";

/** The counts of one day. */
export interface DayCounts {
  day: string;
  counts: [key: string, n: number][];
}

/** Decisions with about the same waiting time on one day. */
export interface Latency {
  bucket: number;
  n: number;
  sum_ms: number;
  max_ms: number;
}

/** Days after `after` and before `until`, at most `limit` of them. */
export interface Days {
  after: string;
  until: string;
  limit: number;
}

/** The counts of one kind, one row a day as JSON; one row a count would cost far more. */
export async function listCounts(
  ledger: Ledger,
  kind: Kind,
  { after, until, limit }: Days,
): Promise<DayCounts[]> {
  const rows = await ledger.all(
    `SELECT day, json_group_array(json_array(key, n)) AS counts FROM daily_counts
      WHERE project_id = ? AND kind = ? AND day > ? AND day < ? GROUP BY day ORDER BY day LIMIT ?`,
    [ledger.project_id, kind, after, until, limit],
  );
  return rows.map(({ day, counts }) => ({ day: String(day), counts: JSON.parse(String(counts)) }));
}

/** The waiting times, one row a day. */
export async function listLatencies(
  ledger: Ledger,
  { after, until, limit }: Days,
): Promise<{ day: string; latencies: Latency[] }[]> {
  const rows = await ledger.all(
    `SELECT day, json_group_array(json_object('bucket', bucket, 'n', n, 'sum_ms', sum_ms,
        'max_ms', max_ms)) AS latencies FROM daily_latencies
      WHERE project_id = ? AND day > ? AND day < ? GROUP BY day ORDER BY day LIMIT ?`,
    [ledger.project_id, after, until, limit],
  );
  return rows.map(({ day, latencies }) => ({
    day: String(day),
    latencies: JSON.parse(String(latencies)),
  }));
}
