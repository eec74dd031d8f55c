import { Hono } from "hono";
import type { AppEnv } from "../context.ts";
import { describe } from "../openapi.ts";
import { query } from "../validate.ts";
import { headersOf, toBody } from "./export.ts";
import { AuditExport, AuditExportQuery, AuditVerification, Checkpoint } from "./schema.ts";

/** `/api/audit`. */
export const auditApi = new Hono<AppEnv>()
  .get("/verify", describe("Check the audit chain", AuditVerification), async (c) => {
    return c.json(await c.var.project.audit.verify());
  })
  .get("/checkpoint", describe("The signed head of the chain", Checkpoint), async (c) => {
    return c.json(await c.var.project.audit.checkpoint());
  })
  .get(
    "/export",
    describe("The audit log as JSON or as a CSV file", AuditExport),
    query(AuditExportQuery),
    async (c) => {
      const exported = await c.var.project.audit.export(c.req.valid("query"));
      return c.body(toBody(exported), 200, headersOf(exported));
    },
  );
