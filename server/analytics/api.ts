import { Hono } from "hono";
import { type AppEnv, describe, query } from "../route.ts";
import { AnalyticsQuery, type AnalyticsRange, AnalyticsSummary, Attention } from "./schema.ts";

interface AnalyticsServices {
  project: {
    summarize(range: AnalyticsRange): Promise<AnalyticsSummary>;
    attention(range: AnalyticsRange): Promise<Attention>;
  };
}

/** `/api/analytics`. */
export const analyticsApi = new Hono<AppEnv<AnalyticsServices>>()
  .get(
    "/summary",
    describe("Get the totals of the last days", AnalyticsSummary),
    query(AnalyticsQuery),
    async (c) => c.json(await c.var.project.summarize(c.req.valid("query"))),
  )
  .get(
    "/attention",
    describe("Get how carefully people decide", Attention),
    query(AnalyticsQuery),
    async (c) => c.json(await c.var.project.attention(c.req.valid("query"))),
  );
