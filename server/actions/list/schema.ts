import { z } from "zod";
import { Time } from "../../audit/schema.ts";
import { Risk } from "../../risk/schema.ts";
import { Action, ActionStatus, Execution } from "../schema.ts";

/** Query of `GET /api/actions` and `GET /api/global/actions`. */
export const ActionQuery = z.object({
  project: z.string().optional(),
  count: z.enum(["true", "false"]).optional(),
  limit: z.coerce.number().int().min(1).max(500).optional(),
  cursor: z.string().max(256).optional(),
  status: ActionStatus.optional(),
  execution: Execution.optional(),
  tool: z.string().max(256).optional(),
  agent: z.string().max(256).optional(),
  session_id: z.string().max(256).optional(),
  path: z.string().max(4096).optional(),
  decided_by: z.string().max(256).optional(),
  risk: Risk.shape.level.optional(),
  from: Time.optional().describe("submitted at this time or later"),
  to: Time.optional().describe("submitted before this time"),
  q: z.string().max(256).optional()
    .describe("whole words, all of which occur in its path, command or reasons"),
});
export type ActionQuery = z.infer<typeof ActionQuery>;

/** A page of actions, newest first. */
export const ActionList = z.object({
  items: z.array(Action),
  next_cursor: z.string().nullable(),
});
export type ActionList = z.infer<typeof ActionList>;
