import type { Shot } from "./race.ts";

/** How many requests the target itself worked on at one moment. */
export interface ServerOverlap {
  /** The header that tells the time of each answer. */
  source: string;
  most_at_once: number;
}

/** How simultaneous a volley was, seen from here and, where it tells, from the target. */
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

/** The way to the target is the same for all of them, so it drops out of the comparison. */
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

/** Headers in which servers tell how long they worked on an answer, in microseconds. */
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
    // One that ends where another begins is not in flight together with it.
    .sort(([a, step], [b, other]) => a - b || step - other);
  let now = 0;
  let most = 0;
  for (const [, step] of edges) {
    now += step;
    most = Math.max(most, now);
  }
  return most;
}
