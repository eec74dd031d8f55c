import { Hono } from "hono";
import type { Caller } from "../auth/schema.ts";
import type { Config } from "../config/config.ts";
import { type AppEnv, describe, json } from "../route.ts";
import type { ApprovalRoutes } from "./approval_routes.ts";
import { AcceptListInput } from "../team/schema.ts";
import {
  AddRouteInput,
  ApprovalRoute,
  ChangeRouteInput,
  RouteList,
  RouteTestInput,
  RouteTestResult,
} from "./schema.ts";

interface RoutesApiServices {
  caller: Caller;
  daemon: { routes: ApprovalRoutes };
  project: { id: string; config: Config };
}

/** `/api/approval-routes`. */
export const approvalRoutesApi = new Hono<AppEnv<RoutesApiServices>>()
  .get(
    "/",
    describe("List the approval routes", RouteList),
    async (c) => c.json(await c.var.daemon.routes.status()),
  )
  .post(
    "/",
    describe("Add an approval route", ApprovalRoute, 201),
    json(AddRouteInput),
    async (c) => c.json(await c.var.daemon.routes.add(c.req.valid("json"), c.var.caller), 201),
  )
  .post(
    "/accept",
    describe("Accept the changes that were made in approval_routes.json by hand", RouteList),
    json(AcceptListInput),
    async (c) => {
      const { daemon: { routes }, caller } = c.var;
      await routes.accept(c.req.valid("json"), caller);
      return c.json(await routes.status());
    },
  )
  .post(
    "/test",
    describe("Show which route a described action would take, and why", RouteTestResult),
    json(RouteTestInput),
    async (c) => {
      const { daemon: { routes }, project } = c.var;
      return c.json(await routes.test(c.req.valid("json"), project));
    },
  )
  .patch(
    "/:id",
    describe("Change an approval route", ApprovalRoute),
    json(ChangeRouteInput),
    async (c) => {
      const { daemon: { routes }, caller } = c.var;
      return c.json(await routes.change(c.req.param("id"), c.req.valid("json"), caller));
    },
  )
  .delete(
    "/:id",
    describe("Remove an approval route", ApprovalRoute),
    async (c) => c.json(await c.var.daemon.routes.remove(c.req.param("id"), c.var.caller)),
  );
