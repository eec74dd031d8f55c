import { Hono } from "hono";
import type { Caller } from "../auth/schema.ts";
import { type AppEnv, describe, json } from "../route.ts";
import type { Blocks } from "./blocks.ts";
import { assess } from "./assess.ts";
import type { RemediationSource } from "./deeds.ts";
import { evaluateSession } from "./evaluate_session.ts";
import { recommend } from "./recommend.ts";
import {
  AssessInput,
  Block,
  BlockList,
  Compliance,
  Recommendations,
  SessionChoice,
  UnblockInput,
} from "./schema.ts";
import { Risk } from "../risk/schema.ts";

interface RemediationServices {
  caller: Caller;
  project: { blocks: Blocks } & RemediationSource;
}

/** `/api/remediation`. */
export const remediationApi = new Hono<AppEnv<RemediationServices>>()
  .post(
    "/assess",
    describe("Assess the risk of an action, a session or a rollback", Risk),
    json(AssessInput),
    async (c) => c.json(await assess(c.var.project, c.req.valid("json"))),
  )
  .post(
    "/evaluate-policy",
    describe("Evaluate what a session did by rules over all its actions", Compliance),
    json(SessionChoice),
    async (c) => c.json(await evaluateSession(c.var.project, c.req.valid("json").session_id)),
  )
  .post(
    "/recommend",
    describe("Rank what a person can do about a session", Recommendations),
    json(SessionChoice),
    async (c) => c.json(await recommend(c.var.project, c.req.valid("json").session_id)),
  )
  .get(
    "/blocks",
    describe("List the sessions and agents that gate has blocked", BlockList),
    async (c) => c.json({ items: await c.var.project.blocks.list() }),
  )
  .post(
    "/blocks/:block_id/unblock",
    describe("Lift a block", Block),
    json(UnblockInput),
    async (c) => {
      const { project, caller } = c.var;
      const id = c.req.param("block_id");
      return c.json(await project.blocks.lift(id, c.req.valid("json"), caller));
    },
  );
