import { Hono } from "hono";
import type { AppEnv } from "../context.ts";
import { describe } from "../openapi.ts";
import { query } from "../validate.ts";
import { AnalyticsQuery, AnalyticsSummary } from "./schema.ts";

/** `/api/analytics`. */
export const analyticsApi = new Hono<AppEnv>()
  .get(
    "/summary",
    describe("What happened in the last days", AnalyticsSummary),
    query(AnalyticsQuery),
    async (c) => {
      return c.json(await c.var.project.summarize(c.req.valid("query").window));
    },
  );
