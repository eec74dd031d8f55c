import { Hono } from "hono";
import { z } from "zod";
import type { AppEnv } from "../context.ts";
import { describe } from "../openapi.ts";
import { json } from "../validate.ts";
import { HubProject, RegisterProjectInput } from "./schema.ts";

/** `/api/hub`. */
export const hubApi = new Hono<AppEnv>()
  .get(
    "/projects",
    describe(
      "Registered projects with what waits in them",
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
    describe("Forget a project; its ledger and its files stay", z.object({ id: z.string() })),
    async (c) => {
      await c.var.daemon.removeProject(c.req.param("id"));
      return c.json({ id: c.req.param("id") });
    },
  );
