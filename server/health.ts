import { Hono } from "hono";
import { z } from "zod";
import { VERSION } from "./constants.ts";
import type { DaemonStatus } from "./global/schema.ts";
import { type AppEnv, describe } from "./route.ts";

const Health = z.object({ name: z.literal("gate"), ok: z.literal(true), version: z.string() });

interface HealthServices {
  daemon: { status(): Promise<DaemonStatus> };
  readers: { readonly size: number };
}

/** `/healthz` needs no credential, so it returns only name and version. `/metrics` needs one. */
export const healthApi = new Hono<AppEnv<HealthServices>>()
  .get("/healthz", describe("Check that the daemon answers", Health), (c) => {
    return c.json({ name: "gate" as const, ok: true as const, version: VERSION });
  })
  .get("/metrics", describe("Get metrics for Prometheus", "text/plain"), async (c) => {
    const text = toMetrics(await c.var.daemon.status(), c.var.readers.size);
    return c.text(text, 200, { "content-type": "text/plain; version=0.0.4; charset=utf-8" });
  });

function toMetrics(status: DaemonStatus, readers: number): string {
  const lines = [
    "# TYPE gate_info gauge",
    `gate_info{version="${status.version}"} 1`,
    "# TYPE gate_healthy gauge",
    `gate_healthy ${status.healthy ? 1 : 0}`,
    "# TYPE gate_uptime_seconds gauge",
    `gate_uptime_seconds ${status.uptime_seconds}`,
    "# TYPE gate_event_readers gauge",
    `gate_event_readers ${readers}`,
    "# TYPE gate_pending_actions gauge",
    ...status.projects.map(({ id, pending_count }) =>
      `gate_pending_actions{project=${JSON.stringify(id)}} ${pending_count}`
    ),
  ];
  return `${lines.join("\n")}\n`;
}
