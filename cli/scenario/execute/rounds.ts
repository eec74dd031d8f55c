import { wilson } from "../confidence.ts";
import type { Ran } from "./execute.ts";
import type { Race } from "./race/race.ts";
import type { Verdict } from "./verdict.ts";

/** One volley of several, as evidence. */
interface Round {
  uniq: string;
  status: Verdict["status"];
  reason: string;
  winners: number;
  spread_us: number;
  overlap: boolean;
}

/**
 * Several volleys as one: a race that showed once is there, however seldom it shows. The evidence of
 * the first one that failed is kept whole, with how many of them failed.
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

function headOf({ verdict }: Ran, count: number, ran: Ran[]): string {
  if (verdict.status !== "passed") return `In ${count} of ${ran.length} rounds`;
  const empty = ran.filter((one) => !hasWinner(one)).length;
  if (empty === 0 || empty === ran.length) return `In all ${ran.length} rounds`;
  return `In all ${ran.length} rounds, ${empty} of them vacuous`;
}

/** What so many clean rounds rule out, at 95 %. */
function missOf(unclear: number, high: number): string {
  if (unclear > 0) return "";
  return `; a race that shows in more than ${
    Math.round(high * 100)
  } % of the volleys would have been seen`;
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

function winnersOf({ shots }: Race): number {
  return shots.filter(({ status }) => status !== null && status >= 200 && status < 300).length;
}
