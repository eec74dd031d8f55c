import { Hono } from "hono";
import { createMiddleware } from "hono/factory";
import { actionsApi } from "./actions/api.ts";
import { analyticsApi } from "./analytics/api.ts";
import { auditApi } from "./audit/api.ts";
import { authApi, loginApi } from "./auth/api.ts";
import { configApi } from "./config/api.ts";
import type { AppEnv } from "./context.ts";
import { GateError } from "./errors.ts";
import { eventsApi } from "./events/api.ts";
import { daemonApi, globalApi } from "./global/api.ts";
import { grantsApi } from "./grants/api.ts";
import { healthApi } from "./health.ts";
import { hooksApi } from "./hooks/api.ts";
import { mcpApi } from "./mcp/api.ts";
import { policyApi } from "./policy/api.ts";
import { hubApi } from "./projects/api.ts";
import { sessionsApi } from "./sessions/api.ts";
import { workspacesApi } from "./workspaces/api.ts";

/** The URL map: one line per feature. The guard stands before it, on the raw request. */
export function createApp() {
  return new Hono<AppEnv>()
    .use("/api/actions/*", withProject)
    .use("/api/analytics/*", withProject)
    .use("/api/audit/*", withProject)
    .use("/api/config/*", withProject)
    .use("/api/grants/*", withProject)
    .use("/api/policy/*", withProject)
    .use("/api/sessions/*", withProject)
    .route("/api/actions", actionsApi)
    .route("/api/analytics", analyticsApi)
    .route("/api/audit", auditApi)
    .route("/api/auth", authApi)
    .route("/api/config", configApi)
    .route("/api/daemon", daemonApi)
    .route("/api/events", eventsApi)
    .route("/api/global", globalApi)
    .route("/api/grants", grantsApi)
    .route("/api/hooks", hooksApi)
    .route("/api/hub", hubApi)
    .route("/api/policy", policyApi)
    .route("/api/sessions", sessionsApi)
    .route("/api/workspaces", workspacesApi)
    .route("/login", loginApi)
    .route("/mcp", mcpApi)
    .route("/", healthApi);
}

export type App = ReturnType<typeof createApp>;

// `?project=`, else the one that the action belongs to, else the only one there is.
const withProject = createMiddleware<AppEnv>(async (c, next) => {
  const [asked, ...more] = c.req.queries("project") ?? [];
  if (more.length > 0) {
    throw new GateError("invalid", 'Cannot tell which project is meant: "project" is given twice');
  }
  const { daemon } = c.var;
  const action = /^\/api\/actions\/([^/]+)/.exec(c.req.path)?.[1];
  if (asked) c.set("project", await daemon.project(asked));
  else if (action) c.set("project", await daemon.projectOfAction(action));
  else c.set("project", await daemon.onlyProject());
  await next();
});
