import type { Challenge } from "./schema.ts";

/** A challenge is good for this long. */
export const CHALLENGE_MS = 60_000;

/** A decision is recorded this long after its proof at most: the files of it are read between. */
const LATE_MS = 10 * 60_000;

/**
 * The clocks of machines that share a ledger may differ by this much: a clock without a time server,
 * or with another time zone, is off by hours.
 */
export const SKEW_MS = 24 * 60 * 60_000;

/**
 * Why a proof was not given at its place in the log; null if it was. `latest` is the latest time of
 * the events between its head and its own event, which is one of them. A proof that somebody kept
 * and writes later follows events from after its challenge expired. In a shared ledger those events
 * may have the time of another machine.
 */
export function faultOfTime(
  { expires_at }: Pick<Challenge, "expires_at">,
  latest: number,
  { is_shared }: { is_shared: boolean },
): string | null {
  const tolerated = LATE_MS + (is_shared ? SKEW_MS : 0);
  if (latest <= Date.parse(expires_at) + tolerated) return null;
  return "it was kept and written later: its challenge had expired when earlier events were written";
}

/** Why a rollback of a session does not continue at this time; null if it does. */
export function faultOfPause(before: number, now: number): string | null {
  return now - before <= LATE_MS ? null : "it was used before";
}

/** The fault of an acceptance whose number another one had before. */
export const OUTDATED = "another version of the config was accepted under its number";

/** The fault of an approval whose action did not wait for one. */
export const NOT_HELD = "its action did not wait for an approval";
