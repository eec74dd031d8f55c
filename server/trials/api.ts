import { Hono } from "hono";
import type { Openings } from "../actions/review/openings.ts";
import type { Config } from "../config/config.ts";
import type { Ledger } from "../db/ledger.ts";
import { type AppEnv, describe, json } from "../route.ts";
import { replayPage } from "./replay.ts";
import {
  PolicyReplayInput,
  PolicyReplayPage,
  PolicySuggestInput,
  PolicySuggestions,
} from "./schema.ts";
import { suggestRules } from "./suggest.ts";

interface TrialsServices {
  project: { ledger: Ledger; config: Config; openings: Openings };
}

/** `/api/policy/replay` and `/api/policy/suggest`. */
export const trialsApi = new Hono<AppEnv<TrialsServices>>()
  .post(
    "/replay",
    describe("Replay a changed policy over recorded actions", PolicyReplayPage),
    json(PolicyReplayInput),
    async (c) => {
      const { config, ledger } = c.var.project;
      const input = c.req.valid("json");
      return c.json(await replayPage(ledger, input, await config.candidate(input)));
    },
  )
  .post(
    "/suggest",
    describe("Suggest allow rules from approvals", PolicySuggestions),
    json(PolicySuggestInput),
    async (c) => c.json(await suggestRules(c.var.project, c.req.valid("json"))),
  );
