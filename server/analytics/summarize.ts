import type { Ledger } from "../db/ledger.ts";
import {
  type Counts,
  dayBefore,
  type DaySpan,
  type DaySums,
  type Grouping,
  LAST,
  type Sums,
} from "./day_sums.ts";
import { Latencies } from "./latencies.ts";
import {
  type AnalyticsRange,
  type AnalyticsSummary,
  type Bounds,
  boundsOf,
  isExact,
  type Outcomes,
  stepOf,
} from "./schema.ts";
import { StepSums } from "./step_sums.ts";
import type { Kind } from "./store.ts";

const TOP = 20;
const MOST_NAMED = 100;
/** The fewest decisions that make a rule significant. */
const ENOUGH = 3;

/** A day counts as closed only after this time, so that clock skew does not change it. */
const SKEW_MS = 3_600_000;

/** A project's ledger, and its sums over days. */
export interface Summed {
  ledger: Ledger;
  daySums: DaySums;
}

/** Summarizes these projects over the range: days from the daily counts, hours from the actions. */
export async function summarize(
  projects: readonly Summed[],
  range: AnalyticsRange,
  now: number,
): Promise<AnalyticsSummary> {
  const { window } = range;
  const bounds = boundsOf(range, now);
  const span: DaySpan = {
    after: dayBefore(bounds.from.slice(0, 10)),
    open: new Date(now - SKEW_MS).toISOString().slice(0, 10),
    end: bounds.to?.slice(0, 10) ?? LAST,
  };
  const ledgers = await sumsOf(projects, window, bounds);
  const total = (kind: Kind) => sumOf(ledgers, kind, span);
  const byRule = await total("rule");
  const byAgent = await total("agent");
  const byTime = await overTime(ledgers, span);
  return {
    window,
    from: bounds.from,
    top_blocked_paths: await topBlocked(ledgers, span),
    busiest_hours: hoursOf(await sumOf(ledgers, "hour", span, BY_HOUR)),
    approval_latency: await latencyOf(ledgers, span),
    decisions: {
      ...totalOf(byAgent),
      by_reviewer: reviewersOf(await total("reviewer")),
      by_agent: grouped(byAgent, 1)
        .map(({ names: [agent], outcomes }) => ({ agent: agent ?? "", ...outcomes })),
      by_day: isExact(window) ? [] : byTime.map(({ at, ...day }) => ({ day: at, ...day })),
      by_step: isExact(window) ? { minutes: stepOf(window) / 60_000, steps: byTime } : null,
      by_rule: grouped(byRule, 4).map(({ names, outcomes }) => ({ ...ruleOf(names), ...outcomes })),
    },
    policy_accuracy: accuracyOf(byRule, (await total("rolled_back")).get("allowed") ?? 0),
  };
}

async function sumsOf(
  projects: readonly Summed[],
  window: string,
  bounds: Bounds,
): Promise<readonly Sums[]> {
  if (!isExact(window)) return projects.map(({ daySums }) => daySums);
  const sums: Sums[] = [];
  for (const { ledger } of projects) sums.push(await StepSums.read(ledger, bounds, stepOf(window)));
  return sums;
}

async function sumOf(
  ledgers: readonly Sums[],
  kind: Kind,
  span: DaySpan,
  grouping?: Grouping,
): Promise<Counts> {
  const sums = new Map<string, number>();
  for (const ledger of ledgers) {
    const { over, open } = await ledger.counts(kind, span, grouping);
    for (const part of [over, open]) {
      for (const [key, n] of part) sums.set(key, (sums.get(key) ?? 0) + n);
    }
  }
  return sums;
}

/** The most blocked paths. Only the top of the closed days and the paths of open days can be among them. */
async function topBlocked(
  ledgers: readonly Sums[],
  span: DaySpan,
): Promise<AnalyticsSummary["top_blocked_paths"]> {
  const parts: Counts[] = [];
  for (const ledger of ledgers) {
    const { over, open } = await ledger.counts("blocked_path", span);
    parts.push(over, open);
  }
  const sums = parts.length > 2 ? [merged(parts)] : parts;
  const [over = NO_COUNTS, open = NO_COUNTS] = sums;
  const names = new Set([...topOf(over), ...open.keys()]);
  names.delete("");
  const totals = new Map(
    [...names].map((name) => [name, (over.get(name) ?? 0) + (open.get(name) ?? 0)]),
  );
  return largest(totals).slice(0, TOP).map(([path, count]) => ({ path, count }));
}

const NO_COUNTS: Counts = new Map();
const tops = new WeakMap<Counts, string[]>();

/** The names with the highest counts, computed once for each sum. */
function topOf(counts: Counts): string[] {
  const known = tops.get(counts) ?? largest(counts).slice(0, TOP + 1).map(([name]) => name);
  tops.set(counts, known);
  return known;
}

function merged(parts: Counts[]): Counts {
  const sums = new Map<string, number>();
  for (const [name, n] of parts.flatMap((part) => [...part])) {
    sums.set(name, (sums.get(name) ?? 0) + n);
  }
  return sums;
}

async function latencyOf(ledgers: readonly Sums[], span: DaySpan) {
  const all = new Latencies();
  for (const ledger of ledgers) {
    const { over, open } = await ledger.latencies(span);
    all.addAll(over);
    all.addAll(open);
  }
  return all.summary();
}

const BY_HOUR: Grouping = {
  name: "weekday and hour",
  keyOf: (hour, day) => `${new Date(`${day}T00:00:00Z`).getUTCDay()} ${hour}`,
};

/** The status of an agent's or a rule's decision with its time. A day's unnamed rest has none. */
const BY_TIME: Grouping = {
  name: "time",
  keyOf: (key, at) => key === "" ? "" : `${at} ${(JSON.parse(key) as Names).at(-1)}`,
};

/**
 * The decisions of each day or step. A person's approvals are counted by reviewer, the rest is
 * allowed.
 */
async function overTime(ledgers: readonly Sums[], span: DaySpan) {
  const all = await sumOf(ledgers, "agent", span, BY_TIME);
  const personal = await sumOf(ledgers, "reviewer", span, BY_TIME);
  const times = new Map<string, Outcomes>();
  for (const [key, n] of all) {
    const [at = "", status = ""] = key.split(" ");
    if (at === "") continue;
    const outcomes = times.get(at) ?? noOutcomes();
    if (status in outcomes) outcomes[status as keyof Outcomes] += n;
    times.set(at, outcomes);
  }
  return [...times].sort(([a], [b]) => a < b ? -1 : 1).map(([at, outcomes]) => ({
    at,
    ...outcomes,
    allowed: Math.max(0, outcomes.approved - (personal.get(`${at} approved`) ?? 0)),
  }));
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

/** Groups counts by name. A key is a JSON array of names and a status, which becomes a column. */
function grouped(
  counts: Counts,
  width: number,
): { key: string; names: Names; outcomes: Outcomes }[] {
  const groups = new Map<string, Outcomes>();
  for (const [key, n] of counts) {
    // A day with too many names counts the rest under the empty key.
    if (key === "") continue;
    const parts = JSON.parse(key) as Names;
    const name = JSON.stringify(parts.slice(0, width));
    const outcomes = groups.get(name) ?? noOutcomes();
    const status = parts[width] as keyof Outcomes;
    if (status in outcomes) outcomes[status] += n;
    groups.set(name, outcomes);
  }
  return [...groups].map(([key, outcomes]) => ({ key, names: JSON.parse(key) as Names, outcomes }))
    .sort((a, b) => sum(b.outcomes) - sum(a.outcomes) || (a.key < b.key ? -1 : 1))
    .slice(0, MOST_NAMED);
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
