import type { AnalyticsSummary } from "./schema.ts";
import type { DailyLatency } from "./store.ts";

/** Waiting times, put together from buckets. */
export class Latencies {
  readonly #buckets = new Map<number, { n: number; sum_ms: number }>();
  #count = 0;
  #max: number | null = null;

  add({ bucket, n, sum_ms, max_ms }: Omit<DailyLatency, "day">): void {
    const known = this.#buckets.get(bucket) ?? { n: 0, sum_ms: 0 };
    this.#buckets.set(bucket, { n: known.n + n, sum_ms: known.sum_ms + sum_ms });
    this.#count += n;
    this.#max = Math.max(this.#max ?? 0, max_ms);
  }

  summary(): AnalyticsSummary["approval_latency"] {
    return {
      count: this.#count,
      p50_ms: this.#percentile(0.5),
      p95_ms: this.#percentile(0.95),
      max_ms: this.#max,
    };
  }

  /** The mean of the bucket in which the nearest rank lies: exact where it holds one value. */
  #percentile(share: number): number | null {
    let left = Math.ceil(share * this.#count);
    for (const [, { n, sum_ms }] of [...this.#buckets].sort(([a], [b]) => a - b)) {
      left -= n;
      if (left <= 0 && n > 0) return Math.round(sum_ms / n);
    }
    return null;
  }
}
