import { z } from "zod";
import { Time } from "../../audit/schema.ts";
import { Risk } from "../../risk/schema.ts";
import { Action, ActionStatus, Execution } from "../schema.ts";

const ms = z.string().regex(/^\d{1,15}$/, "expected milliseconds").transform(Number);
const RULE = 'expected "<source>/<list>/<pattern>", or "default"';

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
  outcome: z.enum(["allowed", "approved", "rejected", "blocked", "expired", "cancelled"]).optional()
    .describe("the decision, whatever happened since: policy allows and blocks, a person approves"),
  decided_from: Time.optional().describe("decided at this time or later"),
  decided_to: Time.optional().describe("decided before this time"),
  waited_from: ms.optional().describe("held for as many milliseconds or more, then reviewed"),
  waited_to: ms.optional().describe("held for fewer milliseconds, then reviewed"),
  weekday: z.string().regex(/^[0-6]$/, "expected 0 to 6").transform(Number).optional()
    .describe("submitted on this day, UTC; 0 is Sunday"),
  hour: z.string().regex(/^(?:1?[0-9]|2[0-3])$/, "expected 0 to 23").transform(Number).optional()
    .describe("submitted in this hour, UTC"),
  rule: z.string().max(1024).regex(/^(?:default|[^/]*\/[^/]*\/[^]*)$/, RULE).optional()
    .describe("the rule that decided: `<source>/<list>/<pattern>`, or `default`"),
  order: z.enum(["newest", "oldest", "risk", "status", "execution"]).optional()
    .describe("by time, or by a column: critical, held or failed ones first, each newest first"),
  q: z.string().max(256).optional()
    .describe("whole words, all of which occur in its path, command or reasons"),
});
export type ActionQuery = z.infer<typeof ActionQuery>;

/** A page of actions in the queried order, newest first by default. */
export const ActionList = z.object({
  items: z.array(Action),
  next_cursor: z.string().nullable(),
});
export type ActionList = z.infer<typeof ActionList>;
