import { Hono } from "hono";
import { z } from "zod";
import { type AppEnv, describe, json } from "../route.ts";
import { HubProject, RegisterProjectInput } from "./schema.ts";

interface ProjectsServices {
  daemon: {
    listProjects(): Promise<HubProject[]>;
    registerProject(root: string): Promise<HubProject>;
    removeProject(id: string): Promise<void>;
  };
}

/** `/api/hub`. */
export const hubApi = new Hono<AppEnv<ProjectsServices>>()
  .get(
    "/projects",
    describe(
      "List the registered projects, with their pending actions counted",
      z.object({ items: z.array(HubProject) }),
    ),
    async (c) => {
      return c.json({ items: await c.var.daemon.listProjects() });
    },
  )
  .post(
    "/projects",
    describe("Register the project of a folder", HubProject, 201),
    json(RegisterProjectInput),
    async (c) => {
      return c.json(await c.var.daemon.registerProject(c.req.valid("json").root), 201);
    },
  )
  .delete(
    "/projects/:id",
    describe("Forget a project and keep its ledger and files", z.object({ id: z.string() })),
    async (c) => {
      await c.var.daemon.removeProject(c.req.param("id"));
      return c.json({ id: c.req.param("id") });
    },
  );
