import { wilson } from "../summary.ts";
import { isSuccess } from "./http.ts";
import type { Race } from "./race/race.ts";
import type { Verdict } from "./verdict.ts";

/** The verdict on a request or a command line, and what it rests on. */
export type Ran = { verdict: Verdict; evidence: Record<string, unknown> };

/**
 * Joins several volleys into one verdict: a race that shows once is a race. Keeps the whole evidence
 * of the first failed volley and the number of failed ones.
 */
export function sumUpRounds(ran: Ran[]): Ran {
  if (ran.length === 1) return ran[0]!;
  const of = (status: Verdict["status"]) => ran.filter(({ verdict }) => verdict.status === status);
  const failed = of("failed");
  const unclear = of("inconclusive");
  const telling = failed[0] ?? unclear[0] ?? ran.find(hasWinner) ?? ran[0]!;
  const { low, high } = wilson(failed.length, ran.length);
  const detection = { rounds: ran.length, failed: failed.length, rate_low: low, rate_high: high };
  return {
    verdict: {
      status: telling.verdict.status,
      reason:
        `${headOf(telling, failed.length || unclear.length, ran)}: ${telling.verdict.reason}` +
        (failed.length > 0 ? "" : missOf(unclear.length, high)),
    },
    evidence: { ...telling.evidence, rounds: ran.map(roundOf), detection },
  };
}

/** One volley of several, as evidence. */
interface Round {
  uniq: string;
  status: Verdict["status"];
  reason: string;
  winners: number;
  spread_us: number;
  overlap: boolean;
}

function headOf({ verdict }: Ran, count: number, ran: Ran[]): string {
  if (verdict.status !== "passed") return `In ${count} of ${ran.length} rounds`;
  const empty = ran.filter((one) => !hasWinner(one)).length;
  if (empty === 0 || empty === ran.length) return `In all ${ran.length} rounds`;
  return `In all ${ran.length} rounds, ${empty} of them vacuous`;
}

/** States the detection rate that these clean rounds rule out, at 95 %. */
function missOf(unclear: number, high: number): string {
  if (unclear > 0) return "";
  const percent = Math.round(high * 100);
  return `; a race that shows in more than ${percent} % of the volleys would have been seen`;
}

function roundOf({ verdict, evidence }: Ran): Round {
  const race = evidence.race as Race | undefined;
  return {
    uniq: String(evidence.uniq ?? ""),
    ...verdict,
    winners: race ? winnersOf(race) : 0,
    spread_us: race?.spread_us ?? 0,
    overlap: race?.overlap ?? false,
  };
}

function hasWinner({ evidence }: Ran): boolean {
  return evidence.race !== undefined && winnersOf(evidence.race as Race) > 0;
}

/** How many requests of a volley succeeded. */
export function winnersOf({ shots }: Race): number {
  return shots.filter(({ status }) => isSuccess(status)).length;
}
