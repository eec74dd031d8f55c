import { z } from "zod";
import { ActionQuery } from "../actions/list/schema.ts";
import { AnalyticsQuery } from "../analytics/schema.ts";
import { AuditExportQuery } from "../audit/schema.ts";
import { DaemonProblem } from "../config/schema.ts";
import { HubProject } from "../projects/schema.ts";
import { InWorkspace } from "../workspaces/schema.ts";

/** `GET /api/daemon/status`. */
export const DaemonStatus = z.object({
  version: z.string(),
  pid: z.number().int(),
  port: z.number().int(),
  started_at: z.iso.datetime(),
  uptime_seconds: z.number(),
  healthy: z.boolean(),
  projects: z.array(HubProject),
  problems: z.array(z.string()).describe("the messages of `findings`"),
  findings: z.array(DaemonProblem),
});
export type DaemonStatus = z.infer<typeof DaemonStatus>;

/** Query of `GET /api/global/actions`. */
export const GlobalActionQuery = ActionQuery.extend(InWorkspace.shape);
export type GlobalActionQuery = z.infer<typeof GlobalActionQuery>;

/** Query of `GET /api/global/analytics/summary`. */
export const GlobalAnalyticsQuery = AnalyticsQuery.omit({ project: true }).extend(
  InWorkspace.shape,
);

/** Query of `GET /api/global/audit/export`. */
export const GlobalAuditExportQuery = AuditExportQuery.omit({ project: true })
  .extend({ ...InWorkspace.shape, format: z.enum(["json", "csv"]).default("json") });
export type GlobalAuditExportQuery = z.infer<typeof GlobalAuditExportQuery>;
