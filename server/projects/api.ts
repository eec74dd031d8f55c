import { Hono } from "hono";
import { z } from "zod";
import type { Caller } from "../auth/schema.ts";
import { type AppEnv, describe, json } from "../route.ts";
import type { Projects } from "./projects.ts";
import { HubProject, RegisterProjectInput } from "./schema.ts";

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
    describe("Register the project of a folder", HubProject, 201),
    json(RegisterProjectInput),
    async (c) => c.json(await c.var.daemon.projects.register(c.req.valid("json").root), 201),
  )
  .delete(
    "/projects/:id",
    describe("Forget a project and keep its ledger and files", z.object({ id: z.string() })),
    async (c) => {
      await c.var.daemon.projects.remove(c.req.param("id"), c.var.caller);
      return c.json({ id: c.req.param("id") });
    },
  );
