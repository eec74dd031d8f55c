import { z } from "zod";
import { Window } from "../audit/schema.ts";

const count = z.number().int();

/** Query of `GET /api/analytics/summary`. */
export const AnalyticsQuery = z.object({
  project: z.string().optional(),
  window: Window.default("30d").describe("whole days (UTC) back from now"),
});
export type AnalyticsQuery = z.infer<typeof AnalyticsQuery>;

/** Query of `GET /api/global/analytics/summary`. */

/** What became of decisions. */
const Outcomes = z.object({
  approved: count,
  rejected: count,
  blocked: count,
  expired: count,
  cancelled: count,
});
export type Outcomes = z.infer<typeof Outcomes>;

/** `GET /api/analytics/summary`: what happened in the last days, from counts by day. */
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
  }).describe("from submission to a person's decision; percentiles are exact to two digits"),
  decisions: Outcomes.extend({
    total: count,
    by_reviewer: z.array(z.object({ reviewer: z.string(), approved: count, rejected: count })),
    by_agent: z.array(Outcomes.extend({ agent: z.string() })),
    by_rule: z.array(Outcomes.extend({
      effect: z.string().nullable(),
      source: z.string().nullable(),
      list: z.string().nullable(),
      pattern: z.string().nullable().describe("null where no rule spoke: the default"),
    })),
  }),
  policy_accuracy: z.object({
    asked_always_approved: count.nullable()
      .describe("rules that asked 3 times or more and were never refused; null: none asked so"),
    allowed_later_rolled_back: count.nullable()
      .describe("what policy allowed and a person took back; null: nothing was allowed"),
    overruled_rate: z.number().nullable()
      .describe("the share of what policy allowed that was taken back"),
  }),
});
export type AnalyticsSummary = z.infer<typeof AnalyticsSummary>;
