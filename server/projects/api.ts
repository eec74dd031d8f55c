import { Hono } from "hono";
import { z } from "zod";
import type { Caller } from "../auth/schema.ts";
import { type AppEnv, describe, json, query } from "../route.ts";
import type { Projects } from "./projects.ts";
import {
  HubProject,
  JoinQuery,
  LeaveQuery,
  MovedLedger,
  OverrideTrust,
  RegisteredProject,
  RegisterProjectInput,
  StorageView,
} from "./schema.ts";

interface ProjectsServices {
  caller: Caller;
  daemon: { projects: Projects };
}

/** `/api/hub`. */
export const hubApi = new Hono<AppEnv<ProjectsServices>>()
  .get(
    "/projects",
    describe(
      "List the registered projects, with their pending actions counted",
      z.object({ items: z.array(HubProject) }),
    ),
    async (c) => c.json({ items: await c.var.daemon.projects.list() }),
  )
  .post(
    "/projects",
    describe("Register the project of a folder", RegisteredProject, 201),
    json(RegisterProjectInput),
    async (c) => {
      const { caller, daemon } = c.var;
      return c.json(await daemon.projects.register(c.req.valid("json").root, caller), 201);
    },
  )
  .put(
    "/projects/:id/override-trust",
    describe("Let a project's overrideGlobal replace the machine's rules", OverrideTrust),
    async (c) => {
      const { daemon, caller } = c.var;
      const project = await daemon.projects.get(c.req.param("id"));
      await project.config.changes.trustOverride(caller);
      return c.json({ id: project.id, trusted: true });
    },
  )
  .delete(
    "/projects/:id/override-trust",
    describe("Make the machine's rules apply to a project again", OverrideTrust),
    async (c) => {
      const { daemon, caller } = c.var;
      const project = await daemon.projects.get(c.req.param("id"));
      await project.config.changes.revokeTrust(caller);
      return c.json({ id: project.id, trusted: false });
    },
  )
  .get(
    "/storage",
    describe("Show where the ledger of each project is", StorageView),
    async (c) => c.json(await c.var.daemon.projects.viewStorage()),
  )
  .put(
    "/projects/:id/server",
    describe("Move a project's ledger to the server of the global config", MovedLedger),
    query(JoinQuery),
    async (c) => {
      const { daemon, caller } = c.var;
      const share = c.req.valid("query").shared === "true";
      return c.json(await daemon.projects.joinServer(c.req.param("id"), caller, { share }));
    },
  )
  .delete(
    "/projects/:id/server",
    describe("Move a project's ledger from its server to this machine", MovedLedger),
    query(LeaveQuery),
    async (c) => {
      const { daemon, caller } = c.var;
      const whole = c.req.valid("query").whole === "true";
      return c.json(await daemon.projects.leaveServer(c.req.param("id"), caller, { whole }));
    },
  )
  .delete(
    "/projects/:id",
    describe("Forget a project and keep its ledger and files", z.object({ id: z.string() })),
    async (c) => {
      await c.var.daemon.projects.remove(c.req.param("id"), c.var.caller);
      return c.json({ id: c.req.param("id") });
    },
  );
