import { z } from "zod";

/** What a dashboard can listen to. */
export const Topic = z.enum(["actions", "approvals", "sessions", "risk", "agents"]);
export type Topic = z.infer<typeof Topic>;

/** One invalidation: something of this topic changed; fetch it again. */
export const StreamEvent = z.object({
  topic: Topic,
  type: z.string().describe("the audit event's type"),
  project_id: z.string(),
  id: z.string().nullable().describe("of the action or session concerned"),
  seq: z.number().int(),
  at: z.string(),
});
export type StreamEvent = z.infer<typeof StreamEvent>;

/** A published event with its place in the machine-wide stream: the SSE id, ever growing. */
export const PublishedEvent = StreamEvent.extend({ cursor: z.number().int() });
export type PublishedEvent = z.infer<typeof PublishedEvent>;

/** Query of `GET /api/events`; without `topics`, all of them. */
export const EventsQuery = z.object({
  topics: z.string().max(256)
    .transform((text) => text.split(","))
    .pipe(z.array(Topic).max(Topic.options.length))
    .optional(),
  project: z.string().max(256).optional(),
});
export type EventsQuery = z.infer<typeof EventsQuery>;
