import { Hono } from "hono";
import type { AppEnv } from "../context.ts";
import { describe } from "../openapi.ts";
import { query } from "../validate.ts";
import { EventsQuery } from "./schema.ts";

/** `/api/events`. */
export const eventsApi = new Hono<AppEnv>()
  .get(
    "/",
    describe("What changed, as Server-Sent Events; Last-Event-ID resumes", "text/event-stream"),
    query(EventsQuery),
    (c) => {
      const headers = { "content-type": "text/event-stream", "x-accel-buffering": "no" };
      if (c.req.method === "HEAD") return c.body(null, 200, headers);
      const { topics, project } = c.req.valid("query");
      const stream = c.var.readers.open({
        topics,
        project: project ?? null,
        last_event_id: c.req.header("last-event-id") ?? null,
      });
      return c.body(stream, 200, headers);
    },
  );
