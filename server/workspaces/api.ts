import { Hono } from "hono";
import type { Registrant, Workspaces } from "./workspaces.ts";
import { z } from "zod";
import { type AppEnv, describe, json } from "../route.ts";
import { AddWorkspaceProjectInput, CreateWorkspaceInput, Workspace } from "./schema.ts";

interface WorkspacesServices {
  caller: Registrant;
  daemon: { workspaces: Workspaces };
}

/** `/api/workspaces`. */
export const workspacesApi = new Hono<AppEnv<WorkspacesServices>>()
  .get(
    "/",
    describe("List workspaces: named sets of projects", z.object({ items: z.array(Workspace) })),
    async (c) => c.json({ items: await c.var.daemon.workspaces.list() }),
  )
  .post(
    "/",
    describe("Create an empty workspace", Workspace, 201),
    json(CreateWorkspaceInput),
    async (c) => c.json(await c.var.daemon.workspaces.create(c.req.valid("json")), 201),
  )
  .get(
    "/:id",
    describe("Get a workspace", Workspace),
    async (c) => c.json(await c.var.daemon.workspaces.get(c.req.param("id"))),
  )
  .delete(
    "/:id",
    describe("Remove a workspace and keep its projects", z.object({ id: z.string() })),
    async (c) => {
      await c.var.daemon.workspaces.remove(c.req.param("id"));
      return c.json({ id: c.req.param("id") });
    },
  )
  .post(
    "/:id/projects",
    describe("Add the project of a folder and register it if necessary", Workspace, 201),
    json(AddWorkspaceProjectInput),
    async (c) => {
      const { root } = c.req.valid("json");
      return c.json(
        await c.var.daemon.workspaces.addProject(c.req.param("id"), root, c.var.caller),
        201,
      );
    },
  )
  .delete(
    "/:id/projects/:project_id",
    describe("Remove a project from a workspace and keep the project", Workspace),
    async (c) => {
      const { id, project_id } = c.req.param();
      return c.json(await c.var.daemon.workspaces.removeProject(id, project_id));
    },
  );
