import { z } from "zod";
import { startOfWindow, Window } from "../audit/schema.ts";

const count = z.number().int();

/** Query of `GET /api/analytics/summary`. */
export const AnalyticsQuery = z.object({
  project: z.string().optional(),
  window: Window.default("30d").describe("whole days (UTC) back from now, or from `to`"),
  to: z.iso.date().optional().describe("the day (UTC) before which the window ends; default: now"),
});
export type AnalyticsQuery = z.infer<typeof AnalyticsQuery>;

/** A window of days; with `to` it ends before that day. */
export type DayRange = Pick<AnalyticsQuery, "window" | "to">;

/** The first day of a range. */
export function firstDayOf({ window, to }: DayRange, now: number): string {
  return startOfWindow(window, to === undefined ? now : Date.parse(to)).slice(0, 10);
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

/** `GET /api/analytics/summary`: sums over the last days, from daily counts. */
export const AnalyticsSummary = z.object({
  window: z.string(),
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
    })).describe("days with decisions, in order"),
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
