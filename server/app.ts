import { Hono } from "hono";
import { type ApiServices, createApi } from "./api.ts";
import { type Assets, createDashboard } from "./dashboard.ts";
import { createDocs } from "./docs.ts";
import type { Environment } from "./environment.ts";
import { GateError } from "./errors.ts";
import type { Admitted, Guarded } from "./guard.ts";
import { problemResponse, toGateError } from "./guard/response.ts";
import { idempotent } from "./idempotency/middleware.ts";
import { LazyMcp, mcpApi } from "./mcp/api.ts";
import { withProof } from "./proof/with_proof.ts";
import { RememberingRouter } from "./remembering_router.ts";
import type { AppEnv } from "./route.ts";

/** The services behind the routes. */
export interface AppServices extends Pick<ApiServices, "daemon" | "logins" | "prover" | "readers"> {
  now: Environment["now"];
  log: Environment["log"];
  assets: Assets;
}

type FullEnv = AppEnv<ApiServices & { mcp: LazyMcp }> & { Bindings: Partial<Admitted> };

/** Everything behind the guard: the API, MCP, the documentation, the dashboard, and its errors. */
export function createApp(services: AppServices): Guarded & { close(): Promise<void> } {
  const { log, daemon, logins, prover, readers } = services;
  const app = new Hono<FullEnv>({ router: new RememberingRouter() });
  const mcp = new LazyMcp((request, admitted) => app.fetch(request, admitted), services);
  app.use(async (c, next) => {
    c.set("daemon", daemon);
    c.set("logins", logins);
    c.set("prover", prover);
    c.set("host", c.env.host ?? null);
    c.set("readers", readers);
    c.set("mcp", mcp);
    if (c.env.caller) {
      c.set("caller", { ...c.env.caller, session_secret: c.req.header("x-gate-session") });
    }
    await next();
  });
  app.use("/api/*", withProof);
  app.use("/api/*", idempotent);
  const routes = createRoutes();
  app.route("/", routes);
  app.route("/", createDocs(routes.routes)).route("/", createDashboard(services.assets));
  app.notFound((c) => problemResponse(noRoute(routes.routes, c.req.method, c.req.path)));
  app.onError((error) => problemResponse(toGateError(error, log)));
  return {
    fetch: (request, admitted) => app.fetch(request, admitted),
    close: () => mcp.close(),
  };
}

/** Every documented route: the API and MCP. */
export function createRoutes() {
  return new Hono<FullEnv>().route("/", createApi()).route("/mcp", mcpApi);
}

type Routes = readonly { method: string; path: string }[];

function noRoute(routes: Routes, method: string, path: string): GateError {
  const allow = allowedMethods(routes, path);
  if (allow.length === 0) {
    return new GateError("not_found", `Cannot find "${path}": no such route; see /docs`);
  }
  return new GateError(
    "method_not_allowed",
    `Cannot ${method} "${path}": the route has no such method; use ${allow.join(", ")}`,
    { fields: { allow } },
  );
}

function allowedMethods(routes: Routes, path: string): string[] {
  const methods = routes
    .filter((route) => route.method !== "ALL" && matches(route.path, path))
    .map((route) => route.method);
  return [...new Set(methods)];
}

function matches(pattern: string, path: string): boolean {
  const expected = pattern.split("/").filter((segment) => segment !== "");
  // A trailing slash makes another address, which has no route.
  const actual = path.split("/").slice(1);
  return expected.length === actual.length &&
    expected.every((segment, i) =>
      segment.startsWith(":") ? actual[i] !== "" : segment === actual[i]
    );
}
