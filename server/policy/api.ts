import { Hono } from "hono";
import type { Ledger } from "../db/ledger.ts";
import { z } from "zod";
import { type AppEnv, describe, json } from "../route.ts";
import { listHits } from "./store.ts";
import { PolicyHit, PolicyTestInput, PolicyTestResult } from "./schema.ts";

interface PolicyServices {
  project: {
    ledger: Ledger;
    testPolicy(input: PolicyTestInput): Promise<PolicyTestResult>;
  };
}

/** `/api/policy`. */
export const policyApi = new Hono<AppEnv<PolicyServices>>()
  .post(
    "/test",
    describe("Evaluate a path, a command or a tool call without recording it", PolicyTestResult),
    json(PolicyTestInput),
    async (c) => c.json(await c.var.project.testPolicy(c.req.valid("json"))),
  )
  .get(
    "/hits",
    describe(
      "Count how often each rule decided, and how often a person overruled it",
      z.array(PolicyHit),
    ),
    async (c) => c.json(await listHits(c.var.project.ledger)),
  );
