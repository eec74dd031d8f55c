import { Hono } from "hono";
import type { Caller } from "../auth/schema.ts";
import type { Config } from "./config.ts";
import { type AppEnv, describe, json } from "../route.ts";
import { Policies } from "../policy/schema.ts";
import { AcceptInput, ConfigView } from "./schema.ts";

interface ConfigServices {
  caller: Caller;
  project: { config: Config };
}

/** `/api/config`. */
export const configApi = new Hono<AppEnv<ConfigServices>>()
  .get(
    "/",
    describe("Get the config in force, with the source of each rule", ConfigView),
    async (c) => {
      const view = await c.var.project.config.view();
      c.header("ETag", view.etag);
      return c.json(view);
    },
  )
  .post(
    "/accept",
    describe("Accept a change of a config file outside the gate", ConfigView),
    json(AcceptInput),
    async (c) => {
      const { config } = c.var.project;
      await config.changes.accept(c.req.valid("json"), c.var.caller);
      return c.json(await config.view());
    },
  )
  .put(
    "/policies",
    describe("Change the policies in the project's config and keep omitted keys", ConfigView),
    json(Policies),
    async (c) => {
      const if_match = c.req.header("if-match") ?? null;
      const change = { caller: c.var.caller, if_match };
      const { config } = c.var.project;
      await config.changes.updatePolicies(c.req.valid("json"), change);
      const view = await config.view();
      c.header("ETag", view.etag);
      return c.json(view);
    },
  );
