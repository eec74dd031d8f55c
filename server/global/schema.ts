import { z } from "zod";
import { HubProject } from "../projects/schema.ts";

/** `GET /api/daemon/status`. */
export const DaemonStatus = z.object({
  version: z.string(),
  pid: z.number().int(),
  port: z.number().int(),
  started_at: z.iso.datetime(),
  uptime_seconds: z.number(),
  healthy: z.boolean(),
  projects: z.array(HubProject),
  problems: z.array(z.string()),
});
export type DaemonStatus = z.infer<typeof DaemonStatus>;
