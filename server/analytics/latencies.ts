import type { AnalyticsSummary } from "./schema.ts";
import type { Latency } from "./store.ts";

/** Waiting times, added up in buckets. */
export class Latencies {
  readonly #buckets = new Map<number, Latency>();

  add({ bucket, n, sum_ms, max_ms }: Latency): void {
    const known = this.#buckets.get(bucket) ?? { bucket, n: 0, sum_ms: 0, max_ms: 0 };
    this.#buckets.set(bucket, {
      bucket,
      n: known.n + n,
      sum_ms: known.sum_ms + sum_ms,
      max_ms: Math.max(known.max_ms, max_ms),
    });
  }

  /** Adds one waiting time, to the bucket of its first two digits. */
  addTime(ms: number): void {
    const unit = 10 ** Math.max(0, String(ms).length - 2);
    this.add({ bucket: Math.floor(ms / unit) * unit, n: 1, sum_ms: ms, max_ms: ms });
  }

  addAll({ buckets }: Latencies): void {
    for (const latency of buckets) this.add(latency);
  }

  get buckets(): Latency[] {
    return [...this.#buckets.values()];
  }

  summary(): AnalyticsSummary["approval_latency"] {
    const buckets = this.buckets.sort((a, b) => a.bucket - b.bucket);
    const count = buckets.reduce((sum, { n }) => sum + n, 0);
    return {
      count,
      p50_ms: percentile(buckets, 0.5 * count),
      p95_ms: percentile(buckets, 0.95 * count),
      max_ms: count === 0 ? null : Math.max(...buckets.map(({ max_ms }) => max_ms)),
      distribution: count === 0 ? [] : distribution(buckets),
    };
  }
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** The upper ends of the shown spans. Each has two digits, so no bucket is in two spans. */
const ENDS = [
  SECOND,
  5 * SECOND,
  15 * SECOND,
  MINUTE,
  5 * MINUTE,
  15 * MINUTE,
  HOUR,
  5 * HOUR,
  20 * HOUR,
  null,
];

/** The number of decisions in each span of waiting times. */
function distribution(buckets: readonly Latency[]) {
  return ENDS.map((to_ms, at) => {
    const from_ms = ENDS[at - 1] ?? 0;
    const inSpan = buckets.filter(({ bucket }) =>
      bucket >= from_ms && (to_ms === null || bucket < to_ms)
    );
    return { from_ms, to_ms, count: inSpan.reduce((sum, { n }) => sum + n, 0) };
  });
}

/** The mean of the bucket with the nearest rank; exact if the bucket has one value. */
function percentile(buckets: Latency[], rank: number): number | null {
  let left = Math.ceil(rank);
  for (const { n, sum_ms } of buckets) {
    left -= n;
    if (left <= 0 && n > 0) return Math.round(sum_ms / n);
  }
  return null;
}
