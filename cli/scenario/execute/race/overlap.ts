import type { Shot } from "./strategy.ts";

/** How many requests the target processed at one moment. */
export interface ServerOverlap {
  /** The header with the processing time of each answer. */
  source: string;
  most_at_once: number;
}

/** How simultaneous a volley was, measured here and, where it says so, by the target. */
export function overlapOf(shots: readonly Shot[]): {
  overlap: boolean;
  in_flight: number;
  server_overlap: ServerOverlap | null;
} {
  const answered = shots.flatMap((shot) => shot.answered_us ?? []);
  const lastSent = Math.max(...shots.map((shot) => shot.sent_us));
  return {
    overlap: answered.length > 0 && lastSent <= Math.min(...answered),
    in_flight: mostAtOnce(shots.map((shot) => [shot.sent_us, shot.answered_us ?? Infinity])),
    server_overlap: serverOverlapOf(shots),
  };
}

/** The network delay is the same for all requests, so it cancels out. */
function serverOverlapOf(shots: readonly Shot[]): ServerOverlap | null {
  for (const [source, microsOf] of CLOCKS) {
    const spans = shots.flatMap(({ headers, answered_us }): [number, number][] => {
      const value = headers.find(([name]) => name.toLowerCase() === source)?.[1];
      const took = value === undefined ? null : microsOf(value);
      return took === null || answered_us === null ? [] : [[answered_us - took, answered_us]];
    });
    if (spans.length > 1) return { source, most_at_once: mostAtOnce(spans) };
  }
  return null;
}

/** Headers with the processing time of an answer, parsed to microseconds. */
const CLOCKS: [string, (value: string) => number | null][] = [
  ["server-timing", (value) => {
    const longest = [...value.matchAll(/;\s*dur\s*=\s*"?(\d+(?:\.\d+)?)/gi)]
      .map((match) => Number(match[1]) * 1_000);
    return longest.length === 0 ? null : Math.max(...longest);
  }],
  ["x-response-time", (value) => {
    const match = /^(\d+(?:\.\d+)?)\s*(us|µs|ms|s)?$/i.exec(value.trim());
    const unit = { us: 1, "µs": 1, ms: 1_000, s: 1_000_000 }[match?.[2]?.toLowerCase() ?? "ms"];
    return match ? Number(match[1]) * unit! : null;
  }],
  ["x-runtime", (value) => {
    const seconds = Number(value);
    return value.trim() !== "" && Number.isFinite(seconds) ? seconds * 1_000_000 : null;
  }],
];

function mostAtOnce(spans: [number, number][]): number {
  const edges = spans.flatMap(([from, to]) => [[from, 1], [to, -1]] as const)
    // A request that ends when another begins does not overlap it.
    .sort(([a, step], [b, other]) => a - b || step - other);
  let now = 0;
  let most = 0;
  for (const [, step] of edges) {
    now += step;
    most = Math.max(most, now);
  }
  return most;
}
