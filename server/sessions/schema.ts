import { z } from "zod";

/** A group of actions: one connection of one agent to one project. */
export const Session = z.object({
  id: z.string(),
  project_id: z.string(),
  root: z.string(),
  host: z.string().describe("platform id of the agent's host, or unknown"),
  agent: z.string(),
  client: z.string().describe("name and version that the MCP client gave"),
  started_at: z.iso.datetime(),
  last_seen_at: z.iso.datetime(),
  ended_at: z.iso.datetime().nullable(),
  action_count: z.number().int(),
  pending_count: z.number().int(),
  rollback_state: z.enum(["none", "partial", "full"]),
});
export type Session = z.infer<typeof Session>;

const name = z.string().min(1).max(256);

/** Body of `POST /api/sessions`. */
export const SessionInput = z.strictObject({
  agent: name.optional(),
  host: name.optional(),
  client: name.optional(),
  root: z.string().max(4096).optional(),
  detected_by: z.string().max(256).optional()
    .describe("the rule that found the project, for the audit row"),
});
export type SessionInput = z.infer<typeof SessionInput>;

/** A page of sessions, newest first. */
export const SessionList = z.object({
  items: z.array(Session),
  next_cursor: z.string().nullable(),
});
export type SessionList = z.infer<typeof SessionList>;

/** Query of `GET /api/sessions`. */
export const SessionQuery = z.object({
  project: z.string().optional(),
  limit: z.coerce.number().int().min(1).max(500).optional(),
  cursor: z.string().max(256).optional(),
  agent: z.string().max(256).optional(),
  host: z.string().max(256).optional(),
});
export type SessionQuery = z.infer<typeof SessionQuery>;

/** `GET /api/sessions/:id/status`. */
export const SessionStatusView = z.object({
  session_id: z.string(),
  rollback_state: z.enum(["none", "partial", "full"]),
  actions: z.array(z.object({
    action_id: z.string(),
    status: z.string(),
    reversible: z.boolean(),
  })),
});
export type SessionStatusView = z.infer<typeof SessionStatusView>;
