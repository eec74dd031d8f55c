import type { Ledger } from "../db/ledger.ts";

export type Kind = "hour" | "blocked_path" | "agent" | "reviewer" | "rule" | "rolled_back";

/** How often something happened on one day. */
export interface DailyCount {
  day: string;
  key: string;
  n: number;
}

/** Decisions that were waited for about equally long on one day. */
export interface DailyLatency {
  day: string;
  bucket: number;
  n: number;
  sum_ms: number;
  max_ms: number;
}

/** At most `limit` counts after `after`, in order. */
export async function listCounts(
  ledger: Ledger,
  kind: Kind,
  after: Pick<DailyCount, "day" | "key">,
  limit: number,
): Promise<DailyCount[]> {
  const rows = await ledger.all(
    `SELECT day, key, n FROM daily_counts
      WHERE project_id = ? AND kind = ? AND (day, key) > (?, ?) ORDER BY day, key LIMIT ?`,
    [ledger.project_id, kind, after.day, after.key, limit],
  );
  return rows as unknown as DailyCount[];
}

/** At most `limit` rows of waiting times after `after`, in order. */
export async function listLatencies(
  ledger: Ledger,
  after: Pick<DailyLatency, "day" | "bucket">,
  limit: number,
): Promise<DailyLatency[]> {
  const rows = await ledger.all(
    `SELECT day, bucket, n, sum_ms, max_ms FROM daily_latencies
      WHERE project_id = ? AND (day, bucket) > (?, ?) ORDER BY day, bucket LIMIT ?`,
    [ledger.project_id, after.day, after.bucket, limit],
  );
  return rows as unknown as DailyLatency[];
}
