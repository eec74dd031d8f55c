import { z } from "zod";

/** A subject that a dashboard can subscribe to. */
export const Topic = z.enum(["actions", "approvals", "sessions", "risk", "agents"]);
export type Topic = z.infer<typeof Topic>;

/** One invalidation: data of this topic changed, so fetch it again. */
export const StreamEvent = z.object({
  topic: Topic,
  type: z.string().describe("the audit event's type"),
  project_id: z.string(),
  id: z.string().nullable().describe("of the action or session concerned"),
  seq: z.number().int(),
  at: z.string(),
});
export type StreamEvent = z.infer<typeof StreamEvent>;

/** A published event with its cursor in the machine-wide stream. The cursor grows and is the SSE id. */
export const PublishedEvent = StreamEvent.extend({ cursor: z.number().int() });
export type PublishedEvent = z.infer<typeof PublishedEvent>;

/** Query of `GET /api/events`. Without `topics`, all topics. */
export const EventsQuery = z.object({
  topics: z.string().max(256)
    .transform((text) => text.split(","))
    .pipe(z.array(Topic).max(Topic.options.length))
    .optional(),
  project: z.string().max(256).optional(),
});
export type EventsQuery = z.infer<typeof EventsQuery>;
