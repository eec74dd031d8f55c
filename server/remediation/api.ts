import { Hono } from "hono";
import type { Caller } from "../auth/schema.ts";
import { type AppEnv, describe, json } from "../route.ts";
import { type BlockServices, listBlocks, unblock } from "./blocks.ts";
import { Block, BlockList, UnblockInput } from "./schema.ts";

interface RemediationServices {
  caller: Caller;
  project: { blocks: BlockServices };
}

/** `/api/remediation`. */
export const remediationApi = new Hono<AppEnv<RemediationServices>>()
  .get(
    "/blocks",
    describe("List the sessions that gate has blocked", BlockList),
    async (c) => c.json({ items: await listBlocks(c.var.project.blocks) }),
  )
  .post(
    "/blocks/:block_id/unblock",
    describe("Lift a block", Block),
    json(UnblockInput),
    async (c) => {
      const { project, caller } = c.var;
      const id = c.req.param("block_id");
      return c.json(await unblock(project.blocks, id, c.req.valid("json"), caller));
    },
  );
