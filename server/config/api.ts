import { Hono } from "hono";
import type { AppEnv } from "../context.ts";
import { describe } from "../openapi.ts";
import { ConfigView } from "./schema.ts";

/** `/api/config`. */
export const configApi = new Hono<AppEnv>()
  .get(
    "/",
    describe("The config in force, with where each rule comes from", ConfigView),
    async (c) => {
      const view = await c.var.project.config.view();
      c.header("ETag", view.etag);
      return c.json(view);
    },
  );
