import { setTimeout as pause } from "node:timers/promises";
import { beginOf } from "../audit/window.ts";
import type { Ledger } from "../db/ledger.ts";
import { Latencies } from "./latencies.ts";
import type { AnalyticsSummary, Outcomes } from "./schema.ts";
import { type DailyCount, type Kind, listCounts, listLatencies } from "./store.ts";

const PAGE = 500;
const TOP = 20;
const MOST_NAMED = 100;
/** A rule that asked fewer times says nothing yet. */
const ENOUGH = 3;

/** What happened in these projects within the window, from the counts that each batch keeps. */
export async function summarize(
  ledgers: readonly Ledger[],
  window: string,
  now: number,
): Promise<AnalyticsSummary> {
  const begin = beforeDay(beginOf(window, now).slice(0, 10));
  const total = (kind: Kind, keyOf?: KeyOf) => sumOf(ledgers, kind, begin, keyOf);
  const byRule = await total("rule");
  const byAgent = await total("agent");
  return {
    window,
    top_blocked_paths: largest(await total("blocked_path"))
      .filter(([path]) => path !== "").slice(0, TOP)
      .map(([path, count]) => ({ path, count })),
    busiest_hours: hoursOf(await total("hour", weekdayAndHour)),
    approval_latency: await latencyOf(ledgers, begin),
    decisions: {
      ...totalOf(byAgent),
      by_reviewer: reviewersOf(await total("reviewer")),
      by_agent: grouped(byAgent, 1)
        .map(({ names: [agent], outcomes }) => ({ agent: agent ?? "", ...outcomes })),
      by_rule: grouped(byRule, 4).map(({ names, outcomes }) => ({ ...ruleOf(names), ...outcomes })),
    },
    policy_accuracy: accuracyOf(byRule, (await total("rolled_back")).get("allowed") ?? 0),
  };
}

type Counts = Map<string, number>;
type KeyOf = (count: DailyCount) => string;

async function sumOf(
  ledgers: readonly Ledger[],
  kind: Kind,
  begin: string,
  keyOf: KeyOf = ({ key }) => key,
): Promise<Counts> {
  const sums: Counts = new Map();
  for (const ledger of ledgers) {
    let rows: DailyCount[];
    let after = { day: begin, key: "" };
    do {
      rows = await listCounts(ledger, kind, after, PAGE);
      for (const row of rows) sums.set(keyOf(row), (sums.get(keyOf(row)) ?? 0) + row.n);
      after = rows.at(-1) ?? after;
      if (rows.length === PAGE) await pause(0);
    } while (rows.length === PAGE);
  }
  return sums;
}

async function latencyOf(ledgers: readonly Ledger[], begin: string) {
  const latencies = new Latencies();
  for (const ledger of ledgers) {
    let rows;
    let after = { day: begin, bucket: -1 };
    do {
      rows = await listLatencies(ledger, after, PAGE);
      for (const row of rows) latencies.add(row);
      after = rows.at(-1) ?? after;
      if (rows.length === PAGE) await pause(0);
    } while (rows.length === PAGE);
  }
  return latencies.summary();
}

/** Sorts between the day before and the day, so that paging begins with the day's first row. */
function beforeDay(day: string): string {
  return `${beginOf("1d", Date.parse(`${day}T00:00:00Z`)).slice(0, 10)}~`;
}

function weekdayAndHour({ day, key }: DailyCount): string {
  return `${new Date(`${day}T00:00:00Z`).getUTCDay()} ${key}`;
}

function hoursOf(counts: Counts): AnalyticsSummary["busiest_hours"] {
  return largest(counts).map(([key, count]) => {
    const [weekday = 0, hour = 0] = key.split(" ").map(Number);
    return { weekday, hour, count };
  });
}

function reviewersOf(counts: Counts): AnalyticsSummary["decisions"]["by_reviewer"] {
  return grouped(counts, 1).map(({ names: [reviewer], outcomes: { approved, rejected } }) => ({
    reviewer: reviewer ?? "",
    approved,
    rejected,
  }));
}

type Names = (string | null)[];

function ruleOf([effect = null, source = null, list = null, pattern = null]: Names) {
  return { effect, source, list, pattern };
}

/** Keys are JSON arrays of some names and a status; the status becomes a column. */
function grouped(counts: Counts, width: number): { names: Names; outcomes: Outcomes }[] {
  const groups = new Map<string, Outcomes>();
  for (const [key, n] of counts) {
    // Too many names in one day: their count is in the total, under no name.
    if (key === "") continue;
    const parts = JSON.parse(key) as Names;
    const name = JSON.stringify(parts.slice(0, width));
    const outcomes = groups.get(name) ?? noOutcomes();
    const status = parts[width] as keyof Outcomes;
    if (status in outcomes) outcomes[status] += n;
    groups.set(name, outcomes);
  }
  return [...groups].map(([name, outcomes]) => ({ names: JSON.parse(name) as Names, outcomes }))
    .sort((a, b) => sum(b.outcomes) - sum(a.outcomes)).slice(0, MOST_NAMED);
}

function totalOf(byAgent: Counts): Outcomes & { total: number } {
  const outcomes = noOutcomes();
  for (const [key, n] of byAgent) {
    const status = key === "" ? null : (JSON.parse(key) as Names)[1];
    if (status && status in outcomes) outcomes[status as keyof Outcomes] += n;
  }
  return { ...outcomes, total: [...byAgent.values()].reduce((a, b) => a + b, 0) };
}

function accuracyOf(byRule: Counts, rolledBack: number): AnalyticsSummary["policy_accuracy"] {
  const rules = grouped(byRule, 4).map(({ names, outcomes }) => ({ ...ruleOf(names), outcomes }));
  const asked = rules.filter(({ effect, outcomes }) =>
    effect === "ask" && outcomes.approved + outcomes.rejected >= ENOUGH
  );
  const allowed = rules.filter(({ effect }) => effect === "allow")
    .reduce((n, { outcomes }) => n + outcomes.approved, 0);
  return {
    asked_always_approved: asked.length === 0
      ? null
      : asked.filter(({ outcomes }) => outcomes.rejected === 0).length,
    allowed_later_rolled_back: allowed === 0 ? null : rolledBack,
    overruled_rate: allowed === 0 ? null : rolledBack / allowed,
  };
}

function largest(counts: Counts): [string, number][] {
  return [...counts].filter(([, n]) => n > 0)
    .sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
}

function noOutcomes(): Outcomes {
  return { approved: 0, rejected: 0, blocked: 0, expired: 0, cancelled: 0 };
}

function sum({ approved, rejected, blocked, expired, cancelled }: Outcomes): number {
  return approved + rejected + blocked + expired + cancelled;
}
