import { Hono } from "hono";
import type { AppEnv } from "../context.ts";
import { GateError } from "../errors.ts";
import { describe } from "../openapi.ts";
import { query } from "../validate.ts";
import { EventsQuery } from "./schema.ts";

/** `/api/events`. */
export const eventsApi = new Hono<AppEnv>()
  .get(
    "/",
    describe("What changed, as Server-Sent Events; Last-Event-ID resumes", "text/event-stream"),
    query(EventsQuery),
    async (c) => {
      const headers = { "content-type": "text/event-stream", "x-accel-buffering": "no" };
      const { topics, project } = c.req.valid("query");
      if (project) await mustBeKnown(c.var.daemon, project);
      if (c.req.method === "HEAD") return c.body(null, 200, headers);
      const stream = c.var.readers.open({
        topics,
        project: project || null,
        last_event_id: c.req.header("last-event-id") ?? null,
      });
      return c.body(stream, 200, headers);
    },
  );

/** Whoever waits for events of a project that is not there would wait for ever. */
async function mustBeKnown(daemon: AppEnv["Variables"]["daemon"], project: string): Promise<void> {
  if ((await daemon.listRoots()).some(({ id }) => id === project)) return;
  throw new GateError("not_found", `Cannot find project "${project}": see gate project list`);
}
