import { Hono } from "hono";
import { type App, createApp } from "./app.ts";
import type { AppBindings, AppEnv, Environment } from "./context.ts";
import type { Logins } from "./auth/login.ts";
import type { Daemon } from "./daemon.ts";
import { type Assets, createDashboard } from "./dashboard.ts";
import { createDocs } from "./docs.ts";
import { GateError } from "./errors.ts";
import type { EventReaders } from "./events/readers.ts";
import { problemResponse } from "./guard/response.ts";
import { idempotent } from "./idempotency/middleware.ts";
import { LazyMcp } from "./mcp/lazy_mcp.ts";

/** What the routes need besides the request. */
export interface RouterServices {
  daemon: Daemon;
  now: Environment["now"];
  logins: Logins;
  readers: EventReaders;
  assets: Assets;
  log: Environment["log"];
}

/** The URL map with its services, and an answer to everything that goes wrong in it. */
export function createRouter(services: RouterServices) {
  const { log } = services;
  const routes = createApp();
  const router = new Hono<AppEnv>();
  const mcp = new LazyMcp((request, bindings) => router.fetch(request, bindings), services);
  router.use(async (c, next) => {
    c.set("daemon", services.daemon);
    c.set("logins", services.logins);
    c.set("readers", services.readers);
    c.set("mcp", mcp);
    if (c.env.caller) c.set("caller", c.env.caller);
    await next();
  });
  router.use("/api/*", idempotent);
  router.route("/", routes);
  router.route("/", createDocs(routes.routes));
  router.route("/", createDashboard(services.assets));
  router.notFound((c) => problemResponse(missing(routes, c.req.method, c.req.path)));
  router.onError((error) => problemResponse(toGateError(error, log)));
  return {
    fetch: (request: Request, bindings: AppBindings) => router.fetch(request, bindings),
    close: () => mcp.close(),
  };
}

/** A mistake of ours is told apart from a refusal: logged whole, answered without details. */
export function toGateError(error: unknown, log: Environment["log"]): GateError {
  if (error instanceof GateError) return error;
  log("error", "a request failed", { error: String((error as Error)?.stack ?? error) });
  return new GateError("internal", "Cannot answer: an unexpected error, see the daemon's log");
}

function missing(app: Pick<App, "routes">, method: string, path: string): GateError {
  const allow = allowedMethods(app, path);
  if (allow.length === 0) return new GateError("not_found", `Cannot find "${path}": no such route`);
  return new GateError(
    "method_not_allowed",
    `Cannot ${method} "${path}": it answers ${allow.join(", ")}`,
    { fields: { allow } },
  );
}

function allowedMethods(app: Pick<App, "routes">, path: string): string[] {
  const methods = app.routes
    .filter((route) => route.method !== "ALL" && matches(route.path, path))
    .map((route) => route.method);
  return [...new Set(methods)];
}

function matches(pattern: string, path: string): boolean {
  const wanted = pattern.split("/").filter((segment) => segment !== "");
  // A slash at the end makes it another address, which answers nothing at all.
  const given = path.split("/").slice(1);
  return wanted.length === given.length &&
    wanted.every((segment, i) => segment.startsWith(":") ? given[i] !== "" : segment === given[i]);
}
