import { z } from "zod";

const count = z.number().int();

const MINUTE_MS = 60_000;
const UNITS = { m: MINUTE_MS, h: 60 * MINUTE_MS, d: 24 * 60 * MINUTE_MS } as const;
const MOST_DAYS = 3650;
/** A longer window is counted by days. */
export const MOST_HOURS = 48;

/** A length of time up to now: minutes or hours, counted exactly, or whole days. */
export const AnalyticsWindow = z.string()
  .regex(/^[1-9][0-9]{0,3}[mhd]$/, "expected minutes, hours or days, such as 30m, 6h or 7d")
  .refine(
    (window) => lengthOf(window) <= (isExact(window) ? MOST_HOURS * UNITS.h : MOST_DAYS * UNITS.d),
    `expected at most ${MOST_HOURS}h or ${MOST_DAYS}d`,
  );

/** Query of `GET /api/analytics/summary`. */
export const AnalyticsQuery = z.object({
  project: z.string().optional(),
  window: AnalyticsWindow.default("30d")
    .describe("minutes, hours or whole days (UTC) back from now, or from `to`"),
  to: z.union([z.iso.date(), z.iso.datetime({ offset: true })], {
    error: "expected a day or a time, such as 2026-03-01 or 2026-03-01T12:00:00Z",
  }).optional()
    .describe("the time before which the window ends, for days the day (UTC); default: now"),
});
export type AnalyticsQuery = z.infer<typeof AnalyticsQuery>;

/** A length of time that ends now, or before `to`. */
export type AnalyticsRange = Pick<AnalyticsQuery, "window" | "to">;

/** Whether a window is counted to the minute, from the records; others count whole days. */
export function isExact(window: string): boolean {
  return !window.endsWith("d");
}

/** The moments between which a range counts: from the first one up to and not including the second. */
export interface Bounds {
  from: string;
  /** Null: until now. */
  to: string | null;
}

/** The bounds of a range. One that ends now begins with a whole step, or a whole day. */
export function boundsOf({ window, to }: AnalyticsRange, now: number): Bounds {
  const step = isExact(window) ? stepOf(window) : UNITS.d;
  const end = to === undefined ? now : Date.parse(isExact(window) ? to : to.slice(0, 10));
  const from = end - lengthOf(window);
  return {
    from: timeOf(to === undefined ? Math.floor(from / step) * step : from),
    to: to === undefined ? null : timeOf(end),
  };
}

const STEPS = [1, 2, 5, 10, 15, 30, 60].map((minutes) => minutes * MINUTE_MS);
const MOST_STEPS = 72;

/** The milliseconds of one step of an exact window. */
export function stepOf(window: string): number {
  return STEPS.find((step) => lengthOf(window) <= MOST_STEPS * step)!;
}

function lengthOf(window: string): number {
  return parseInt(window) * UNITS[window.slice(-1) as keyof typeof UNITS];
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}

/** Decisions by their outcome. */
const Outcomes = z.object({
  approved: count,
  rejected: count,
  blocked: count,
  expired: count,
  cancelled: count,
});
export type Outcomes = z.infer<typeof Outcomes>;

/** `GET /api/analytics/summary`: sums over a range of time. */
export const AnalyticsSummary = z.object({
  window: z.string(),
  from: z.iso.datetime().describe("the beginning of the range"),
  top_blocked_paths: z.array(z.object({ path: z.string(), count })),
  busiest_hours: z.array(z.object({
    weekday: z.number().int().min(0).max(6).describe("0 is Sunday, UTC"),
    hour: z.number().int().min(0).max(23).describe("UTC"),
    count,
  })).describe("the busiest first; hours in which nothing happened are left out"),
  approval_latency: z.object({
    count,
    p50_ms: z.number().nullable(),
    p95_ms: z.number().nullable(),
    max_ms: z.number().nullable(),
    distribution: z.array(z.object({
      from_ms: count,
      to_ms: count.nullable().describe("not included; null: no end"),
      count,
    })).describe("times are rounded down to two digits; empty without decisions"),
  }).describe("from submission to a person's decision; percentiles are exact to two digits"),
  decisions: Outcomes.extend({
    total: count,
    by_reviewer: z.array(z.object({ reviewer: z.string(), approved: count, rejected: count })),
    by_agent: z.array(Outcomes.extend({ agent: z.string() })),
    by_day: z.array(Outcomes.extend({
      day: z.iso.date().describe("of the decision, UTC"),
      allowed: count.describe("by the policy; the others of `approved` are a person's"),
    })).describe("days with decisions, in order; empty for a window of minutes or hours"),
    by_step: z.object({
      minutes: count.describe("the length of a step; steps begin at multiples of it, UTC"),
      steps: z.array(Outcomes.extend({ at: z.iso.datetime(), allowed: count }))
        .describe("steps with decisions, in order"),
    }).nullable().describe("null for a window of days"),
    by_rule: z.array(Outcomes.extend({
      effect: z.string().nullable(),
      source: z.string().nullable(),
      list: z.string().nullable(),
      pattern: z.string().nullable().describe("null for the default, if no rule matched"),
    })),
  }),
  policy_accuracy: z.object({
    asked_always_approved: count.nullable()
      .describe(
        "rules that asked 3 times or more and were never rejected; null: none asked so often",
      ),
    allowed_later_rolled_back: count.nullable()
      .describe("actions that policy allowed and a person rolled back; null: nothing was allowed"),
    overruled_rate: z.number().nullable()
      .describe("the share of allowed actions that were rolled back"),
  }),
});
export type AnalyticsSummary = z.infer<typeof AnalyticsSummary>;

/** `GET /api/analytics/attention`: how carefully people decide. */
export const Attention = z.object({
  window: z.string(),
  reviewers: z.array(z.object({
    reviewer: z.string(),
    decisions: count,
    approved: count,
    median_ms: z.number().nullable()
      .describe("from the submission, or from the same person's decision before"),
    characters: count.describe("of the commands and new contents that they decided on"),
    quick: count.describe("approvals in less time than the text takes to read"),
    quick_risky: count.describe("of them, actions of high or critical risk"),
    longest_streak: count.describe("the most quick approvals in a row"),
    is_streak: z.boolean().describe("five quick approvals in a row or more"),
  })),
});
export type Attention = z.infer<typeof Attention>;
