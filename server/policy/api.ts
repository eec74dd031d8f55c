import { Hono } from "hono";
import { z } from "zod";
import type { AppEnv } from "../context.ts";
import { describe } from "../openapi.ts";
import { json } from "../validate.ts";
import { listHits } from "./hits.ts";
import { PolicyHit, PolicyTestInput, PolicyTestResult } from "./schema.ts";

/** `/api/policy`. */
export const policyApi = new Hono<AppEnv>()
  .post(
    "/test",
    describe("What policy would say of a path or command", PolicyTestResult),
    json(PolicyTestInput),
    async (c) => {
      return c.json(await c.var.project.testPolicy(c.req.valid("json")));
    },
  )
  .get(
    "/hits",
    describe("How often each rule has decided, over the newest actions", z.array(PolicyHit)),
    async (c) => c.json(await listHits(c.var.project.ledger)),
  );
