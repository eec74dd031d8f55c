import { Hono } from "hono";
import type { Caller } from "../auth/schema.ts";
import { type AppEnv, describe, json } from "../route.ts";
import type { Retention } from "./retention.ts";
import { GcInput, GcResult, RetentionView } from "./schema.ts";

interface RetentionApiServices {
  caller: Caller;
  project: { retention: Retention };
}

/** `/api/retention`. */
export const retentionApi = new Hono<AppEnv<RetentionApiServices>>()
  .get(
    "/",
    describe("Get how long the contents of settled actions are kept", RetentionView),
    async (c) => c.json(await c.var.project.retention.view()),
  )
  .post(
    "/gc",
    describe("Drop the contents of old, settled actions, or count what would be dropped", GcResult),
    json(GcInput),
    async (c) => {
      const { project: { retention }, caller } = c.var;
      return c.json(await retention.collect(c.req.valid("json"), caller));
    },
  );
