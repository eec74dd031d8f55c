import type { HttpRequest } from "../http.ts";
import type { Target } from "../target.ts";
import { raceByBurst } from "./burst.ts";
import { raceOverHttp2 } from "./h2.ts";
import { raceByLastByte } from "./last_byte.ts";
import { blindSpotsOf, notesOf } from "./notes.ts";
import { overlapOf, type ServerOverlap } from "./overlap.ts";
import { racePipelined } from "./pipeline.ts";
import type { Means, Outcome, RaceShot, Shot, Strategy, Volley } from "./strategy.ts";

/** One rung of the ladder: a strategy that was taken or passed over, and why. */
export interface Rung {
  strategy: Means;
  taken: boolean;
  why: string;
}

/** A volley with the proof of its simultaneity. */
export interface Race {
  strategy: Means;
  ladder: Rung[];
  shots: RaceShot[];
  /** Between the first and the last released byte. */
  spread_us: number;
  /** Every request was sent before the first answer arrived. */
  overlap: boolean;
  /** The most requests in flight at one moment. */
  in_flight: number;
  /** The same by the target's own clock, where its answers say how long they took. */
  server_overlap: ServerOverlap | null;
  /** The different `Date` headers of the answers. They show which clocks answered. */
  dates: string[];
  /** Notes on answers that are neither a win nor a loss. */
  notes: string[];
  /** The races that this volley cannot detect. */
  blind_spots: string[];
  error: string | null;
}

export interface RaceOptions {
  timeout_ms: number;
  insecure?: boolean;
  race_strategy: Strategy;
}

const MEANS: Record<Means, { release: (volley: Volley) => Promise<Outcome>; how: string }> = {
  "h2": {
    release: raceOverHttp2,
    how: "one connection, the last frames of all requests in one write",
  },
  "last-byte": {
    release: raceByLastByte,
    how: "a connection each, all bytes but the last sent before, the last ones in one loop",
  },
  "burst": {
    release: raceByBurst,
    how: "a connection each, opened before where the target lets us, whole requests in one loop",
  },
  "pipeline": {
    release: racePipelined,
    how: "one connection, all requests in one write; many servers answer these one by one",
  },
};

/** The best first. Only one strategy sends complete requests. */
const LADDER: Means[] = ["h2", "last-byte", "burst"];

/** Sends `count` identical requests at the same moment, by the best strategy that fits. */
export async function raceRequests(
  target: Target,
  request: HttpRequest,
  count: number,
  options: RaceOptions,
): Promise<Race> {
  const { race_strategy, timeout_ms, insecure = false } = options;
  const ladder: Rung[] = [];
  for (const strategy of rungsFrom(race_strategy)) {
    const asked = strategy === race_strategy;
    const { release, how } = MEANS[strategy];
    const outcome = await release({ target, request, count, timeout_ms, insecure, asked });
    const unfit = "unfit" in outcome ? outcome.unfit : null;
    ladder.push({ strategy, taken: unfit === null, why: unfit ?? how });
    if (!("unfit" in outcome)) return raceOf(outcome, ladder, request);
  }
  return raceOf({ shots: [], error: ladder.at(-1)!.why }, ladder, request);
}

function rungsFrom(strategy: Strategy): Means[] {
  if (strategy === "auto") return LADDER;
  const at = LADDER.indexOf(strategy);
  return at === -1 ? [strategy] : LADDER.slice(at);
}

function raceOf(
  { shots, error = null }: { shots: Shot[]; error?: string | null },
  ladder: Rung[],
  request: HttpRequest,
): Race {
  const { strategy } = ladder.at(-1)!;
  const sent = shots.map((shot) => shot.sent_us);
  const timing = overlapOf(shots);
  return {
    strategy,
    ladder,
    shots: shots.map(({ headers: _headers, interim: _interim, ...shot }) => shot),
    spread_us: shots.length === 0 ? 0 : Math.max(...sent) - Math.min(...sent, 0),
    ...timing,
    dates: datesOf(shots),
    notes: notesOf(shots),
    blind_spots: blindSpotsOf(strategy, request, timing.overlap),
    error,
  };
}

function datesOf(shots: Shot[]): string[] {
  const dates = shots.flatMap(({ headers }) =>
    headers.filter(([name]) => name.toLowerCase() === "date").map(([, value]) => value)
  );
  return [...new Set(dates)].sort();
}
