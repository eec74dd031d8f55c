import { Hono } from "hono";
import type { Caller } from "../auth/schema.ts";
import type { Actions } from "./actions.ts";
import { z } from "zod";
import { type AppEnv, describe, json, query } from "../route.ts";
import {
  Action,
  ActionDetail,
  ActionStatusView,
  Approved,
  ApproveInput,
  ApproveWithEditInput,
  CancelInput,
  Claim,
  ClaimInput,
  RejectAllInput,
  RejectAllResult,
  RejectInput,
  ReplayInput,
  ResultInput,
  RollbackInput,
  RollbackResult,
  ShownImage,
  SubmitInput,
  WaitInput,
} from "./schema.ts";
import { ActionList, ActionQuery } from "./list/schema.ts";
import { forAgent } from "./show/for_agent.ts";

const Submitted = Action.extend({ result: z.record(z.string(), z.unknown()).nullable() });
const Count = z.object({ count: z.number().int() });

interface ActionsServices {
  caller: Caller;
  project: { actions: Actions; countPending(): Promise<number> };
}

/** `/api/actions`. */
export const actionsApi = new Hono<AppEnv<ActionsServices>>()
  .get(
    "/",
    describe("List actions, newest first by default", z.union([ActionList, Count])),
    query(ActionQuery),
    async (c) => {
      const { project } = c.var;
      const given = c.req.valid("query");
      if (given.count === "true") return c.json({ count: await project.countPending() });
      return c.json(await project.actions.list(given));
    },
  )
  .post("/", describe("Submit an action", Submitted, 201), json(SubmitInput), async (c) => {
    const { action, result } = await c.var.project.actions.submit(
      c.req.valid("json"),
      c.var.caller,
    );
    return c.json({ ...action, result }, action.status === "pending" ? 202 : 201);
  })
  .post(
    "/reject",
    describe("Reject several held actions", RejectAllResult),
    json(RejectAllInput),
    async (c) => {
      return c.json(await c.var.project.actions.rejectAll(c.req.valid("json"), c.var.caller));
    },
  )
  .get("/:id", describe("Get an action with its details", ActionDetail), async (c) => {
    const detail = await c.var.project.actions.detail(c.req.param("id"));
    return c.json(c.var.caller.scope === "agent" ? forAgent(detail) : detail);
  })
  .get(
    "/:id/images/:sha256",
    describe("Get a file of an action as an image", ShownImage),
    async (c) => {
      const { id, sha256 } = c.req.param();
      return c.json(await c.var.project.actions.image(id, sha256));
    },
  )
  .get("/:id/status", describe("Get the status of an action", ActionStatusView), async (c) => {
    return c.json(await c.var.project.actions.status(c.req.param("id")));
  })
  .post(
    "/:id/wait",
    describe("Wait until an action is decided and finished", Submitted),
    json(WaitInput),
    async (c) => {
      const { action, result } = await c.var.project.actions.wait(
        c.req.param("id"),
        c.req.valid("json"),
        c.var.caller,
      );
      return c.json({ ...action, result });
    },
  )
  .post(
    "/:id/claim",
    describe("Claim an approved command to run it", Claim),
    json(ClaimInput),
    async (c) => {
      return c.json(
        await c.var.project.actions.claim(c.req.param("id"), c.req.valid("json"), c.var.caller),
      );
    },
  )
  .post(
    "/:id/result",
    describe("Report the result of a command", Action),
    json(ResultInput),
    async (c) => {
      return c.json(
        await c.var.project.actions.result(c.req.param("id"), c.req.valid("json"), c.var.caller),
      );
    },
  )
  .post("/:id/cancel", describe("Cancel a held action", Action), json(CancelInput), async (c) => {
    return c.json(
      await c.var.project.actions.cancel(c.req.param("id"), c.req.valid("json"), c.var.caller),
    );
  })
  .post(
    "/:id/approve",
    describe("Approve a held action", Approved),
    json(ApproveInput),
    async (c) => {
      const { project: { actions }, caller } = c.var;
      const approved = await actions.approve(c.req.param("id"), c.req.valid("json"), caller);
      return c.json(approved, approved.approvals ? 202 : 200);
    },
  )
  .post("/:id/reject", describe("Reject a held action", Action), json(RejectInput), async (c) => {
    return c.json(
      await c.var.project.actions.reject(c.req.param("id"), c.req.valid("json"), c.var.caller),
    );
  })
  .post(
    "/:id/approve-with-edit",
    describe("Approve an edited version", Approved),
    json(ApproveWithEditInput),
    async (c) => {
      const { project: { actions }, caller } = c.var;
      const input = c.req.valid("json");
      const approved = await actions.approveWithEdit(c.req.param("id"), input, caller);
      return c.json(approved, approved.approvals ? 202 : 200);
    },
  )
  .post(
    "/:id/rollback",
    describe("Roll back an action", RollbackResult),
    json(RollbackInput),
    async (c) => {
      return c.json(
        await c.var.project.actions.rollback(c.req.param("id"), c.req.valid("json"), c.var.caller),
      );
    },
  )
  .post(
    "/:id/replay",
    describe("Submit a rolled-back write again", Submitted, 201),
    json(ReplayInput),
    async (c) => {
      const { action, result } = await c.var.project.actions.replay(
        c.req.param("id"),
        c.var.caller,
        c.req.valid("json"),
      );
      return c.json({ ...action, result }, action.status === "pending" ? 202 : 201);
    },
  );
