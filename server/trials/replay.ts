import { setTimeout as pause } from "node:timers/promises";
import { firstSince } from "../actions/list/store.ts";
import type { ActionRow } from "../actions/store.ts";
import { readCursor, toPage } from "../db/cursor.ts";
import type { Ledger } from "../db/ledger.ts";
import type { Decision } from "../policy/schema.ts";
import { type Candidate, evaluateAgain, UnjudgedCounts } from "./recorded.ts";
import type { PolicyReplayPage, ReplayCounts, ReplayedAction, RuleReplay } from "./schema.ts";
import { listRecorded } from "./store.ts";

const PAGE = 200;
/** Yields to the event loop after this many milliseconds. */
const SLICE_MS = 10;
const MOST_EXAMPLES = 3;

/** Replays a policy over one page of the recorded actions, newest first. */
export async function replayPage(
  ledger: Ledger,
  { since, cursor }: { since: string; cursor?: string | undefined },
  candidate: Candidate,
): Promise<PolicyReplayPage> {
  const before = readCursor(cursor);
  // Pages follow the sequence number, because the clock may have been set back.
  const from = await firstSince(ledger, since);
  const rows = await listRecorded(ledger, { from, before, limit: PAGE + 1 });
  const { items, next_cursor } = toPage(rows, PAGE);
  const recent = items.filter(({ created_at }) => created_at >= since);
  const page = new Page();
  await forEachSlice(recent, async (row) => {
    const again = await evaluateAgain(row, candidate);
    if ("unjudged" in again) page.unjudged.add(again.unjudged, row.id);
    else page.add(row, again.answer.decision);
  });
  return page.result(recent.at(-1) ?? null, next_cursor);
}

/** Runs `work` for each item and yields to the event loop in between. */
export async function forEachSlice<T>(
  all: readonly T[],
  work: (one: T) => Promise<void>,
): Promise<void> {
  let began = performance.now();
  for (const one of all) {
    await work(one);
    if (performance.now() - began < SLICE_MS) continue;
    await pause(0);
    began = performance.now();
  }
}

/** Adds up the changes of one page. */
class Page {
  readonly unjudged = new UnjudgedCounts();
  readonly #totals = nothing();
  readonly #rules = new Map<string, RuleReplay>();
  #checked = 0;

  add(row: ActionRow, decision: Decision): void {
    this.#checked++;
    const { effect: was, rule: rule_before } = row.decision;
    const now = decision.effect;
    // The policy itself still asks about an action that a grant answered.
    if (was === now || (row.decision.grant_id !== undefined && now !== "deny")) return;
    const counts = countsOf(row, now);
    sum(this.#totals, counts);
    const known = this.#ruleOf(decision);
    sum(known, counts);
    const what = row.proposed?.command ?? row.command ?? row.path ?? row.tool;
    const example: ReplayedAction = {
      id: row.id,
      what: what.slice(0, 400),
      status: row.status,
      was,
      now,
      rule_before,
    };
    // Rejected actions are the most important examples.
    if (counts.rejected_now_allowed > 0) known.examples.unshift(example);
    else known.examples.push(example);
    known.examples.length = Math.min(known.examples.length, MOST_EXAMPLES);
  }

  #ruleOf({ rule }: Decision): RuleReplay {
    const key = JSON.stringify(rule);
    const known = this.#rules.get(key) ?? { rule, ...nothing(), examples: [] };
    this.#rules.set(key, known);
    return known;
  }

  result(oldest: ActionRow | null, next_cursor: string | null): PolicyReplayPage {
    return {
      checked: this.#checked,
      totals: this.#totals,
      rules: [...this.#rules.values()],
      unjudged: this.unjudged.list(),
      reached: oldest?.created_at ?? null,
      next_cursor,
    };
  }
}

function countsOf({ decision: { effect: was }, status }: ActionRow, now: string): ReplayCounts {
  return {
    newly_blocked: Number(now === "deny"),
    newly_asked: Number(now === "ask"),
    newly_allowed: Number(now === "allow"),
    prompts_saved: Number(was === "ask"),
    rejected_now_allowed: Number(now === "allow" && status === "rejected"),
  };
}

function nothing(): ReplayCounts {
  return {
    newly_blocked: 0,
    newly_asked: 0,
    newly_allowed: 0,
    prompts_saved: 0,
    rejected_now_allowed: 0,
  };
}

function sum(to: ReplayCounts, more: ReplayCounts): void {
  for (const name of Object.keys(more) as (keyof ReplayCounts)[]) to[name] += more[name];
}
