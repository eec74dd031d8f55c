import { Hono } from "hono";
import type { Actions } from "../actions/actions.ts";
import type { Caller } from "../auth/schema.ts";
import type { Ledger } from "../db/ledger.ts";
import type { Sessions } from "./sessions.ts";
import type { ViewedFiles } from "./viewed.ts";
import { ActionList, ActionQuery } from "../actions/list/schema.ts";
import { type AppEnv, describe, json, query } from "../route.ts";
import { diffSession } from "./diff.ts";
import { rollbackSession } from "./rollback.ts";
import {
  ListedSession,
  OpenedSession,
  PartialRollbackInput,
  Session,
  SessionDiff,
  SessionInput,
  SessionList,
  SessionQuery,
  SessionRollbackInput,
  SessionRollbackResult,
  SessionStatusView,
  ViewedInput,
  ViewedList,
} from "./schema.ts";

interface SessionsServices {
  caller: Caller;
  daemon: { viewed: ViewedFiles };
  project: { sessions: Sessions; actions: Actions; ledger: Ledger };
}

/** `/api/sessions`. */
export const sessionsApi = new Hono<AppEnv<SessionsServices>>()
  .get(
    "/",
    describe("List sessions, newest first", SessionList),
    query(SessionQuery),
    async (c) => c.json(await c.var.project.sessions.list(c.req.valid("query"))),
  )
  .post(
    "/",
    describe("Open a session; keep its secret", OpenedSession, 201),
    json(SessionInput),
    async (c) => {
      await c.var.project.actions.contact();
      return c.json(await c.var.project.sessions.open(c.req.valid("json"), c.var.caller), 201);
    },
  )
  .get(
    "/:id",
    describe("Get a session", ListedSession),
    async (c) => c.json(await c.var.project.sessions.show(c.req.param("id"))),
  )
  .get(
    "/:id/actions",
    describe("List the actions of a session", ActionList),
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
    describe("Get the rollback state of a session", SessionStatusView),
    async (c) => c.json(await c.var.project.sessions.status(c.req.param("id"))),
  )
  .get(
    "/:id/diff",
    describe("Get the effects of a session on files", SessionDiff),
    async (c) => c.json(await diffSession(c.var.project, c.req.param("id"))),
  )
  .get(
    "/:id/viewed",
    describe("List the files of a session that you have viewed", ViewedList),
    async (c) => {
      const { daemon, project, caller } = c.var;
      const { id } = await project.sessions.get(c.req.param("id"));
      return c.json({ items: await daemon.viewed.list(id, caller) });
    },
  )
  .put(
    "/:id/viewed",
    describe("Mark a file of a session as viewed, or take the mark away", ViewedList),
    json(ViewedInput),
    async (c) => {
      const { daemon, project, caller } = c.var;
      const { id } = await project.sessions.get(c.req.param("id"));
      return c.json({ items: await daemon.viewed.set(id, c.req.valid("json"), caller) });
    },
  )
  .post(
    "/:id/rollback",
    describe("Roll back a session, newest action first, all or nothing", SessionRollbackResult),
    json(SessionRollbackInput),
    async (c) => {
      const { project, caller } = c.var;
      return c.json(
        await rollbackSession(project, c.req.param("id"), c.req.valid("json"), caller),
      );
    },
  )
  .post(
    "/:id/rollback-partial",
    describe("Roll back these actions of a session", SessionRollbackResult),
    json(PartialRollbackInput),
    async (c) => {
      const { project, caller } = c.var;
      return c.json(
        await rollbackSession(project, c.req.param("id"), c.req.valid("json"), caller),
      );
    },
  )
  .post(
    "/:id/end",
    describe("End a session, and cancel what it still holds", Session),
    async (c) => {
      const { project: { sessions, actions }, caller } = c.var;
      await actions.contact();
      const { id } = await sessions.end(c.req.param("id"), caller);
      await actions.cancelHeld(id, caller);
      return c.json(await sessions.get(id));
    },
  );
