import { setImmediate as pause } from "node:timers/promises";
import { startOfWindow } from "../audit/schema.ts";
import type { Ledger } from "../db/ledger.ts";
import { listDecisions, type PersonalDecision } from "./attention_store.ts";
import type { Attention } from "./schema.ts";

const PAGE = 500;
/** Older decisions of the window are left out. */
const MOST = 10_000;
/** A person reads at most so many characters in a second. */
const READ_PER_SECOND = 60;
/** So much time a decision needs in any case. */
const LEAST_MS = 1_500;
/** So many approvals in a row, each too quick to be a review, are a streak. */
const STREAK = 5;

/** How carefully people decide: the time that they took, against the length of what they read. */
export async function measureAttention(
  ledger: Ledger,
  window: string,
  now: number,
): Promise<Attention> {
  const since = startOfWindow(window, now);
  const decisions: PersonalDecision[] = [];
  for (let before = Number.MAX_SAFE_INTEGER; decisions.length < MOST;) {
    const page = await listDecisions(ledger, since, { before, limit: PAGE });
    decisions.push(...page);
    if (page.length < PAGE) break;
    before = page.at(-1)!.seq;
    await pause();
  }
  const names = [...new Set(decisions.map(({ reviewer }) => reviewer))].sort();
  return {
    window,
    reviewers: names.map((reviewer) =>
      attentionOf(reviewer, decisions.filter((one) => one.reviewer === reviewer))
    ),
  };
}

function attentionOf(
  reviewer: string,
  decisions: PersonalDecision[],
): Attention["reviewers"][number] {
  const timed = timesOf(decisions);
  const times = timed.map(({ took_ms }) => took_ms).sort((a, b) => a - b);
  const quick = timed.filter(isQuick);
  return {
    reviewer,
    decisions: timed.length,
    approved: timed.filter(({ status }) => status !== "rejected").length,
    median_ms: times[Math.floor(times.length / 2)] ?? null,
    characters: timed.reduce((sum, { length }) => sum + length, 0),
    quick: quick.length,
    quick_risky: quick.filter(({ level }) => level === "high" || level === "critical").length,
    longest_streak: longestStreak(timed),
    is_streak: longestStreak(timed) >= STREAK,
  };
}

type Timed = PersonalDecision & { took_ms: number };

/**
 * The time that a person had for each decision: since the action was held, or since the same person's
 * decision before. Who decides on a queue reads one card after another.
 */
function timesOf(decisions: readonly PersonalDecision[]): Timed[] {
  const ordered = decisions.toSorted((a, b) =>
    a.decided_at === b.decided_at ? a.seq - b.seq : a.decided_at < b.decided_at ? -1 : 1
  );
  let last = 0;
  return ordered.map((one) => {
    const decided = Date.parse(one.decided_at);
    const took_ms = Math.max(0, decided - Math.max(last, Date.parse(one.created_at)));
    last = decided;
    return { ...one, took_ms };
  });
}

/** An approval in less time than the text takes to read. */
function isQuick({ took_ms, length, status }: Timed): boolean {
  return status !== "rejected" && took_ms < Math.max(LEAST_MS, 1_000 * length / READ_PER_SECOND);
}

function longestStreak(timed: readonly Timed[]): number {
  let longest = 0;
  let now = 0;
  for (const one of timed) {
    now = isQuick(one) ? now + 1 : 0;
    longest = Math.max(longest, now);
  }
  return longest;
}
