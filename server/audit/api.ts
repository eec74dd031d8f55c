import { Hono } from "hono";
import type { Audit } from "./audit.ts";
import { type AppEnv, describe, query } from "../route.ts";
import { headersOf, toBody } from "./export.ts";
import {
  AuditEventList,
  AuditEventsQuery,
  AuditExport,
  AuditExportQuery,
  AuditHead,
  AuditHeadQuery,
  AuditState,
} from "./schema.ts";
import { AuditVerification, Checkpoint } from "../evidence/schema.ts";

interface AuditServices {
  project: { audit: Audit };
}

/** `/api/audit`. */
export const auditApi = new Hono<AppEnv<AuditServices>>()
  .get(
    "/verify",
    describe("Check the audit chain", AuditVerification),
    async (c) => c.json(await c.var.project.audit.verify()),
  )
  .get(
    "/checkpoint",
    describe("Get the signed head of the audit chain", Checkpoint),
    async (c) => c.json(await c.var.project.audit.checkpoint()),
  )
  .get(
    "/state",
    describe("Get the size of the audit chain, its signed head and the newest check", AuditState),
    async (c) => c.json(await c.var.project.audit.state()),
  )
  .get(
    "/events",
    describe("List audit events, newest first", AuditEventList),
    query(AuditEventsQuery),
    async (c) => c.json(await c.var.project.audit.list(c.req.valid("query"))),
  )
  .get(
    "/head",
    describe("Get the newest event's number and hash, and the hash of an earlier event", AuditHead),
    query(AuditHeadQuery),
    async (c) => c.json(await c.var.project.audit.head(c.req.valid("query").at ?? null)),
  )
  .get(
    "/export",
    describe("Export the audit log as JSON, as CSV or as a page with its proof", AuditExport),
    query(AuditExportQuery),
    async (c) => {
      const exported = await c.var.project.audit.export(c.req.valid("query"));
      return c.body(toBody(exported), 200, headersOf(exported));
    },
  );
