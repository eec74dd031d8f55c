import { Hono } from "hono";
import { ActionList, ActionQuery } from "../actions/schema.ts";
import type { AppEnv } from "../context.ts";
import { describe } from "../openapi.ts";
import { json, query } from "../validate.ts";
import { Session, SessionInput, SessionList, SessionQuery, SessionStatusView } from "./schema.ts";

/** `/api/sessions`. */
export const sessionsApi = new Hono<AppEnv>()
  .get(
    "/",
    describe("List sessions, newest first", SessionList),
    query(SessionQuery),
    async (c) => {
      return c.json(await c.var.project.sessions.list(c.req.valid("query")));
    },
  )
  .post("/", describe("Open a session", Session, 201), json(SessionInput), async (c) => {
    return c.json(await c.var.project.sessions.open(c.req.valid("json"), c.var.caller), 201);
  })
  .get("/:id", describe("One session", Session), async (c) => {
    return c.json(await c.var.project.sessions.get(c.req.param("id")));
  })
  .get(
    "/:id/actions",
    describe("The actions of a session", ActionList),
    query(ActionQuery),
    async (c) => {
      const session = await c.var.project.sessions.get(c.req.param("id"));
      return c.json(
        await c.var.project.actions.list({ ...c.req.valid("query"), session_id: session.id }),
      );
    },
  )
  .get(
    "/:id/status",
    describe("What of a session is rolled back", SessionStatusView),
    async (c) => {
      return c.json(await c.var.project.sessions.status(c.req.param("id")));
    },
  )
  .post("/:id/end", describe("End a session", Session), async (c) => {
    return c.json(await c.var.project.sessions.end(c.req.param("id"), c.var.caller));
  });
