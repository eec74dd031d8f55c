import { Hono } from "hono";
import type { EventReaders } from "./readers.ts";
import { GateError } from "../errors.ts";
import { type AppEnv, describe, query } from "../route.ts";
import { EventsQuery } from "./schema.ts";

interface EventServices {
  daemon: { projects: { listRoots(): Promise<{ id: string }[]> } };
  readers: EventReaders;
}

/** `/api/events`. */
export const eventsApi = new Hono<AppEnv<EventServices>>()
  .get(
    "/",
    describe("Stream changes as Server-Sent Events; Last-Event-ID resumes", "text/event-stream"),
    query(EventsQuery),
    async (c) => {
      const headers = { "content-type": "text/event-stream", "x-accel-buffering": "no" };
      const { topics, project } = c.req.valid("query");
      if (project) await requireProject(c.var.daemon, project);
      if (c.req.method === "HEAD") return c.body(null, 200, headers);
      const stream = c.var.readers.open({
        topics,
        project: project || null,
        last_event_id: c.req.header("last-event-id") ?? null,
      });
      return c.body(stream, 200, headers);
    },
  );

/** @throws GateError `not_found`, because an unknown project never has an event */
async function requireProject(daemon: EventServices["daemon"], project: string): Promise<void> {
  if ((await daemon.projects.listRoots()).some(({ id }) => id === project)) return;
  throw new GateError(
    "not_found",
    `Cannot find project "${project}": it is not registered`,
    { next: "gate project list" },
  );
}
