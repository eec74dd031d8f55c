import { Hono } from "hono";
import type { Caller } from "../auth/schema.ts";
import { z } from "zod";
import { Action, Approved, ApproveInput, HeldAction, RejectInput } from "../actions/schema.ts";
import { ActionList } from "../actions/list/schema.ts";
import { type AnalyticsRange, AnalyticsSummary, Attention } from "../analytics/schema.ts";
import { type Export, headersOf, toBody } from "../audit/export.ts";
import { GlobalAuditExport } from "../audit/schema.ts";
import { type AppEnv, describe, json, query } from "../route.ts";
import type { Projects } from "../projects/projects.ts";
import { InWorkspace } from "../workspaces/schema.ts";
import {
  DaemonStatus,
  GlobalActionQuery,
  GlobalAnalyticsQuery,
  GlobalAuditExportQuery,
} from "./schema.ts";

interface GlobalServices {
  caller: Caller;
  daemon: {
    status(): Promise<DaemonStatus>;
    listPending(workspace?: string): Promise<HeldAction[]>;
    countPending(workspace?: string): Promise<number>;
    listActions(query: GlobalActionQuery): Promise<ActionList>;
    summarize(range: AnalyticsRange, workspace?: string): Promise<AnalyticsSummary>;
    attention(range: AnalyticsRange, workspace?: string): Promise<Attention>;
    exportAudit(query: GlobalAuditExportQuery): Promise<Export>;
    projects: Pick<Projects, "ofAction">;
  };
}

/** `/api/daemon`. */
export const daemonApi = new Hono<AppEnv<GlobalServices>>()
  .get(
    "/status",
    describe("Get the health, uptime and projects of the daemon", DaemonStatus),
    async (c) => c.json(await c.var.daemon.status()),
  );

/** `/api/global`. */
export const globalApi = new Hono<AppEnv<GlobalServices>>()
  .get(
    "/approvals/pending",
    describe("List the held actions of all projects", z.object({ items: z.array(HeldAction) })),
    query(InWorkspace),
    async (c) => {
      const { workspace } = c.req.valid("query");
      return c.json({ items: await c.var.daemon.listPending(workspace) });
    },
  )
  .get(
    "/approvals/count",
    describe("Count the held actions of all projects", z.object({ count: z.number().int() })),
    query(InWorkspace),
    async (c) => {
      const { workspace } = c.req.valid("query");
      return c.json({ count: await c.var.daemon.countPending(workspace) });
    },
  )
  .get(
    "/actions",
    describe("List the actions of all projects, newest first by default", ActionList),
    query(GlobalActionQuery),
    async (c) => c.json(await c.var.daemon.listActions(c.req.valid("query"))),
  )
  .get(
    "/analytics/summary",
    describe("Get the totals of all projects in the last days", AnalyticsSummary),
    query(GlobalAnalyticsQuery),
    async (c) => {
      const { workspace, ...range } = c.req.valid("query");
      return c.json(await c.var.daemon.summarize(range, workspace));
    },
  )
  .get(
    "/analytics/attention",
    describe("Get how carefully people decide in all projects", Attention),
    query(GlobalAnalyticsQuery),
    async (c) => {
      const { workspace, ...range } = c.req.valid("query");
      return c.json(await c.var.daemon.attention(range, workspace));
    },
  )
  .get(
    "/audit/export",
    describe("Export the audit log of all projects as JSON or CSV", GlobalAuditExport),
    query(GlobalAuditExportQuery),
    async (c) => {
      const exported = await c.var.daemon.exportAudit(c.req.valid("query"));
      return c.body(toBody(exported), 200, headersOf(exported));
    },
  )
  .post(
    "/approvals/:id/approve",
    describe("Approve a held action of any project", Approved),
    json(ApproveInput),
    async (c) => {
      const { daemon: { projects }, caller } = c.var;
      const { actions } = await projects.ofAction(c.req.param("id"));
      const approved = await actions.approve(c.req.param("id"), c.req.valid("json"), caller);
      return c.json(approved, approved.approvals ? 202 : 200);
    },
  )
  .post(
    "/approvals/:id/reject",
    describe("Reject a held action of any project", Action),
    json(RejectInput),
    async (c) => {
      const project = await c.var.daemon.projects.ofAction(c.req.param("id"));
      return c.json(
        await project.actions.reject(c.req.param("id"), c.req.valid("json"), c.var.caller),
      );
    },
  );
