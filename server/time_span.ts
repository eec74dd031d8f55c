import type { Environment } from "./environment.ts";
import { createGrowingCache } from "./growing_cache.ts";

/** A span of time, as ISO dates. */
export interface TimeSpan {
  from: string;
  until: string;
}

const MOST_SPANS = 10_000;
/** The clocks of machines that share a ledger may differ by a day. */
const MOST_APART_MS = 24 * 60 * 60 * 1000;

/** The ends of spans, by the clock that nobody can set. */
const ends = new WeakMap<Environment, ReturnType<typeof createGrowingCache<number>>>();

/**
 * Whether a span with this name lasts by two clocks: the machine's, which may be set back, and one that
 * only goes forward. The first call takes its rest from the machine's clock. `is_shared` means that
 * another machine may have begun it.
 */
export function lasts(
  environment: Environment,
  name: string,
  { from, until }: TimeSpan,
  { is_shared = false } = {},
): boolean {
  const now = environment.now();
  const rest = Date.parse(until) - now;
  const early = Date.parse(from) - now;
  if (rest <= 0 || early > (is_shared ? MOST_APART_MS : 0)) return false;
  const known = ends.get(environment) ?? createGrowingCache<number>(MOST_SPANS);
  ends.set(environment, known);
  const up = environment.uptime?.() ?? performance.now();
  const end = Math.min(known.get(name) ?? Infinity, up + rest);
  known.set(name, end);
  return up < end;
}
