import { Hono } from "hono";
import type { AppEnv } from "../context.ts";
import { describe } from "../openapi.ts";
import { AuditVerification, Checkpoint } from "./schema.ts";

/** `/api/audit`. */
export const auditApi = new Hono<AppEnv>()
  .get("/verify", describe("Check the audit chain", AuditVerification), async (c) => {
    return c.json(await c.var.project.audit.verify());
  })
  .get("/checkpoint", describe("The signed head of the chain", Checkpoint), async (c) => {
    return c.json(await c.var.project.audit.checkpoint());
  });
