import type { HttpRequest } from "../http.ts";
import type { Target } from "../target.ts";

/** How a volley is released. `auto` tries the strategies of the ladder from the best down. */
export const STRATEGIES = ["auto", "h2", "last-byte", "burst", "pipeline"] as const;
export type Strategy = typeof STRATEGIES[number];
export type Means = Exclude<Strategy, "auto">;

/** The result of one of the identical requests. */
export interface RaceShot {
  status: number | null;
  /** When its last byte was written, counted from the release. */
  sent_us: number;
  /** When the first byte of its answer arrived, counted from the release; null without one. */
  answered_us: number | null;
  /** Short hash of the body. Equal answers have equal fingerprints. */
  fingerprint: string | null;
  error: string | null;
}

/** A shot with the details that only the judging needs. */
export interface Shot extends RaceShot {
  headers: [string, string][];
  /** Interim (1xx) statuses before the final one. */
  interim: number[];
}

/** Everything that a strategy needs to release one volley. */
export interface Volley {
  target: Target;
  request: HttpRequest;
  count: number;
  timeout_ms: number;
  insecure: boolean;
  /** The user named this strategy. */
  asked: boolean;
}

/** The shots of a volley, or why the strategy does not fit. Then no complete request was sent. */
export type Outcome = { shots: Shot[]; error?: string } | { unfit: string };
