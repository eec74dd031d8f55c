import { setImmediate as pause } from "node:timers/promises";
import type { Ledger } from "../db/ledger.ts";
import {
  listDecisions,
  listVotes,
  type PageBefore,
  type PersonalDecision,
} from "./attention_store.ts";
import { type AnalyticsRange, type Attention, boundsOf } from "./schema.ts";

const PAGE = 500;
/** Older decisions of the window are left out. */
const MOST = 10_000;
/** A person reads at most so many characters in a second. */
const READ_PER_SECOND = 60;
/** So much time a decision needs in any case. */
const LEAST_MS = 1_500;
/** So many approvals in a row, each too quick to be a review, are a streak. */
const STREAK = 5;
/** Decisions that follow each other faster are one answer about several actions. */
const TOGETHER_MS = 300;

/** How carefully people decide: the time that they took, against the length of what they read. */
export async function measureAttention(
  ledgers: readonly Ledger[],
  range: AnalyticsRange,
  now: number,
): Promise<Attention> {
  const { from, to } = boundsOf(range, now);
  const decisions: PersonalDecision[] = [];
  for (const ledger of ledgers) {
    for (const list of [listDecisions, listVotes]) {
      decisions.push(...await readAll((page) => list(ledger, from, page)));
    }
  }
  const within = to === null ? decisions : decisions.filter((one) => one.decided_at < to);
  const names = [...new Set(within.map(({ reviewer }) => reviewer))].sort();
  return {
    window: range.window,
    reviewers: names.map((reviewer) =>
      attentionOf(reviewer, within.filter((one) => one.reviewer === reviewer))
    ),
  };
}

async function readAll(
  list: (page: PageBefore) => Promise<PersonalDecision[]>,
): Promise<PersonalDecision[]> {
  const found: PersonalDecision[] = [];
  for (let before = Number.MAX_SAFE_INTEGER; found.length < MOST;) {
    const page = await list({ before, limit: PAGE });
    found.push(...page);
    if (page.length < PAGE) break;
    before = page.at(-1)!.seq;
    await pause();
  }
  return found;
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
 * decision before. Who decides on a queue reads one card after another. One answer about several
 * actions had its time for all of them, so each gets its part by what there was to read.
 */
function timesOf(decisions: readonly PersonalDecision[]): Timed[] {
  let last = 0;
  return answersOf(decisions).flatMap((answer) => {
    const held = Math.min(...answer.map(({ created_at }) => Date.parse(created_at)));
    const had_ms = Math.max(0, Date.parse(answer[0]!.decided_at) - Math.max(last, held));
    const need_ms = answer.reduce((sum, one) => sum + timeToRead(one), 0);
    last = Date.parse(answer.at(-1)!.decided_at);
    return answer.map((one) => ({
      ...one,
      took_ms: Math.floor(had_ms * timeToRead(one) / need_ms),
    }));
  });
}

/** The decisions in their order, those of one answer together. */
function answersOf(decisions: readonly PersonalDecision[]): PersonalDecision[][] {
  const ordered = decisions.toSorted((a, b) =>
    a.decided_at === b.decided_at ? a.seq - b.seq : a.decided_at < b.decided_at ? -1 : 1
  );
  const answers: PersonalDecision[][] = [];
  for (const one of ordered) {
    const before = answers.at(-1)?.at(-1);
    const gap = before && Date.parse(one.decided_at) - Date.parse(before.decided_at);
    if (gap !== undefined && gap < TOGETHER_MS) answers.at(-1)!.push(one);
    else answers.push([one]);
  }
  return answers;
}

function timeToRead({ length }: PersonalDecision): number {
  return Math.max(LEAST_MS, 1_000 * length / READ_PER_SECOND);
}

/** An approval in less time than the text takes to read. */
function isQuick(one: Timed): boolean {
  return one.status !== "rejected" && one.took_ms < Math.floor(timeToRead(one));
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
