import { z } from "zod";

/** An automatic block of a session or of an agent: its calls are denied until then, or until a lift. */
export const Block = z.object({
  id: z.string(),
  project_id: z.string(),
  session_id: z.string(),
  action_id: z.string().nullable().describe("the action that led to it"),
  reason: z.string(),
  agent: z.string().nullable().describe("blocks every session of this agent; null: one session"),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime().nullable().describe("null: only a reviewer ends it"),
  lifted_at: z.iso.datetime().nullable(),
  lifted_by: z.string().nullable(),
});
export type Block = z.infer<typeof Block>;

/** Answer of `GET /api/remediation/blocks`: the active blocks, newest first. */
export const BlockList = z.object({ items: z.array(Block) });
export type BlockList = z.infer<typeof BlockList>;

/** Body of `POST /api/remediation/blocks/:block_id/unblock`. */
export const UnblockInput = z.strictObject({ reason: z.string().max(4000).optional() });
export type UnblockInput = z.infer<typeof UnblockInput>;
