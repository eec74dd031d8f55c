import { Hono } from "hono";
import { createMiddleware } from "hono/factory";
import { actionsApi } from "./actions/api.ts";
import { approvalsApi, escalationsApi } from "./approvals/api.ts";
import { approvalRoutesApi } from "./approval_routes/api.ts";
import { agentMonitorApi } from "./agent_monitor/api.ts";
import { analyticsApi } from "./analytics/api.ts";
import { auditApi } from "./audit/api.ts";
import { authApi, loginApi } from "./auth/api.ts";
import type { Logins } from "./auth/login.ts";
import type { Prover } from "./auth/prover.ts";
import type { Caller } from "./auth/schema.ts";
import { configApi } from "./config/api.ts";
import type { Daemon } from "./daemon.ts";
import { GateError } from "./errors.ts";
import { doctorApi } from "./doctor/api.ts";
import { eventsApi } from "./events/api.ts";
import type { EventReaders } from "./events/readers.ts";
import { daemonApi, globalApi } from "./global/api.ts";
import { grantsApi } from "./grants/api.ts";
import { healthApi } from "./health.ts";
import { hooksApi } from "./hooks/api.ts";
import { notificationsApi } from "./notifications/api.ts";
import { policyApi } from "./policy/api.ts";
import { hubApi } from "./projects/api.ts";
import type { Project } from "./projects/project.ts";
import { proofApi } from "./proof/api.ts";
import { remediationApi } from "./remediation/api.ts";
import { retentionApi } from "./retention/api.ts";
import type { AppEnv } from "./route.ts";
import { sandboxApi } from "./sandbox/api.ts";
import { sessionsApi } from "./sessions/api.ts";
import { ownSession } from "./sessions/own_session.ts";
import { teamApi } from "./team/api.ts";
import { trialsApi } from "./trials/api.ts";
import { workspacesApi } from "./workspaces/api.ts";

/** The services that routes read from `c.var`. */
export interface ApiServices {
  daemon: Daemon;
  /** Set on every route that requires a credential. */
  caller: Caller;
  logins: Logins;
  prover: Prover;
  /** The checked `Host` of the request; null over the unix socket. */
  host: string | null;
  readers: EventReaders;
  /** Set on the routes of one project. */
  project: Project;
}

/** The routes of every feature. The guard has checked each request before it arrives here. */
export function createApi() {
  return new Hono<AppEnv<ApiServices>>()
    .use("/api/actions/*", withProject)
    .use("/api/analytics/*", withProject)
    .use("/api/approval-routes/test", withProject)
    .use("/api/audit/*", withProject)
    .use("/api/config/*", withProject)
    .use("/api/grants/*", withProject)
    .use("/api/policy/*", withProject)
    .use("/api/remediation/*", withProject)
    .use("/api/retention/*", withProject)
    .use("/api/sandbox/*", withProject)
    .use("/api/sessions/*", withProject)
    .use("/api/actions/*", ownSession)
    .use("/api/policy/*", ownSession)
    .use("/api/sessions/*", ownSession)
    .route("/api/actions", actionsApi)
    .route("/api/agent-monitor", agentMonitorApi)
    .route("/api/analytics", analyticsApi)
    .route("/api/approval-routes", approvalRoutesApi)
    .route("/api/approvals", approvalsApi)
    .route("/api/audit", auditApi)
    .route("/api/auth", authApi)
    .route("/api/config", configApi)
    .route("/api/daemon", daemonApi)
    .route("/api/doctor", doctorApi)
    .route("/api/escalations", escalationsApi)
    .route("/api/events", eventsApi)
    .route("/api/global", globalApi)
    .route("/api/grants", grantsApi)
    .route("/api/hooks", hooksApi)
    .route("/api/hub", hubApi)
    .route("/api/notifications", notificationsApi)
    .route("/api/policy", policyApi)
    .route("/api/policy", trialsApi)
    .route("/api/proof", proofApi)
    .route("/api/remediation", remediationApi)
    .route("/api/retention", retentionApi)
    .route("/api/sandbox", sandboxApi)
    .route("/api/sessions", sessionsApi)
    .route("/api/team", teamApi)
    .route("/api/workspaces", workspacesApi)
    .route("/login", loginApi)
    .route("/", healthApi);
}

export type Api = ReturnType<typeof createApi>;

// Fails to compile when a feature reads a service that `ApiServices` does not provide.
type Unprovided<A> = A extends Hono<infer E, infer _S, infer _B>
  ? ApiServices extends E["Variables"] ? never : E["Variables"]
  : never;
type Routes =
  | typeof actionsApi
  | typeof agentMonitorApi
  | typeof analyticsApi
  | typeof approvalRoutesApi
  | typeof approvalsApi
  | typeof escalationsApi
  | typeof auditApi
  | typeof authApi
  | typeof configApi
  | typeof daemonApi
  | typeof doctorApi
  | typeof eventsApi
  | typeof globalApi
  | typeof grantsApi
  | typeof hooksApi
  | typeof hubApi
  | typeof notificationsApi
  | typeof policyApi
  | typeof proofApi
  | typeof remediationApi
  | typeof retentionApi
  | typeof sandboxApi
  | typeof sessionsApi
  | typeof teamApi
  | typeof trialsApi
  | typeof workspacesApi
  | typeof loginApi
  | typeof healthApi;
const _isProvided: [Unprovided<Routes>] extends [never] ? true : never = true;

// Sets the project: `?project=`, else the project of the action or, for a person who reads it, of the
// session, else the only registered project.
const withProject = createMiddleware<AppEnv<ApiServices>>(async (c, next) => {
  const [named, ...more] = c.req.queries("project") ?? [];
  if (more.length > 0) {
    throw new GateError("invalid", 'Cannot choose a project: "project" is given twice');
  }
  const { daemon } = c.var;
  const action = /^\/api\/actions\/(?!reject$)([^/]+)/.exec(c.req.path)?.[1];
  const isRead = c.req.method === "GET" && c.var.caller?.scope !== "agent";
  const session = isRead ? /^\/api\/sessions\/([^/]+)/.exec(c.req.path)?.[1] : undefined;
  if (named) c.set("project", await daemon.projects.get(named));
  else if (action) c.set("project", await daemon.projects.ofAction(action));
  else if (session) c.set("project", await daemon.projects.ofSession(session));
  else c.set("project", await daemon.projects.only());
  await next();
});
