import { Hono } from "hono";
import type { Config } from "../config/config.ts";
import type { Ledger } from "../db/ledger.ts";
import { z } from "zod";
import { type AppEnv, describe, json } from "../route.ts";
import { replayPage } from "./history/replay.ts";
import {
  PolicyReplayInput,
  PolicyReplayPage,
  PolicySuggestInput,
  PolicySuggestions,
} from "./history/schema.ts";
import { suggestRules } from "./history/suggest.ts";
import { listHits } from "./store.ts";
import { PolicyHit, PolicyTestInput, PolicyTestResult } from "./schema.ts";

interface PolicyServices {
  project: {
    ledger: Ledger;
    config: Config;
    testPolicy(input: PolicyTestInput): Promise<PolicyTestResult>;
  };
}

/** `/api/policy`. */
export const policyApi = new Hono<AppEnv<PolicyServices>>()
  .post(
    "/test",
    describe("What policy would say of a path or command", PolicyTestResult),
    json(PolicyTestInput),
    async (c) => {
      return c.json(await c.var.project.testPolicy(c.req.valid("json")));
    },
  )
  .post(
    "/replay",
    describe("What a changed policy would have done to recorded actions", PolicyReplayPage),
    json(PolicyReplayInput),
    async (c) => {
      const { config, ledger } = c.var.project;
      const input = c.req.valid("json");
      return c.json(await replayPage(ledger, input, await config.candidate(input)));
    },
  )
  .post(
    "/suggest",
    describe("Allow rules that what people approved speaks for", PolicySuggestions),
    json(PolicySuggestInput),
    async (c) => c.json(await suggestRules(c.var.project, c.req.valid("json"))),
  )
  .get(
    "/hits",
    describe(
      "How often each rule has decided, and how often a person overruled it",
      z.array(PolicyHit),
    ),
    async (c) => c.json(await listHits(c.var.project.ledger)),
  );
