import { Hono } from "hono";
import type { Caller } from "../auth/schema.ts";
import { type AppEnv, describe } from "../route.ts";
import { SandboxView, SessionOpening } from "./schema.ts";

interface SandboxServices {
  caller: Caller;
  project: {
    viewSandbox(): Promise<SandboxView>;
    openings: { close(id: string, caller: Caller): Promise<SessionOpening> };
  };
}

/** `/api/sandbox`. */
export const sandboxApi = new Hono<AppEnv<SandboxServices>>()
  .get(
    "/",
    describe("Show the sandbox of commands and its open walls", SandboxView),
    async (c) => c.json(await c.var.project.viewSandbox()),
  )
  .delete(
    "/openings/:id",
    describe("Close the walls that a person opened for a session", SessionOpening),
    async (c) => c.json(await c.var.project.openings.close(c.req.param("id"), c.var.caller)),
  );
