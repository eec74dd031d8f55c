import { Hono } from "hono";
import type { Caller } from "../auth/schema.ts";
import { type AppEnv, describe, json } from "../route.ts";
import type { Blocks } from "./blocks.ts";
import { Block, BlockList, UnblockInput } from "./schema.ts";

interface RemediationServices {
  caller: Caller;
  project: { blocks: Blocks };
}

/** `/api/remediation`. */
export const remediationApi = new Hono<AppEnv<RemediationServices>>()
  .get(
    "/blocks",
    describe("List the sessions that gate has blocked", BlockList),
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
