import { GateError } from "../errors.ts";
import type { Caller, Scope } from "./schema.ts";

/** An id, so that a route with a name in its place is not open to agents. */
const ID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";

/** The routes that an agent may use. It may use no other. */
const AGENT_ROUTES: [method: string, path: RegExp][] = [
  ["POST", /^\/api\/actions$/],
  ["POST", /^\/api\/actions\/[^/]+\/(?:wait|claim|result|cancel)$/],
  ["GET", new RegExp(`^/api/actions/${ID}(?:/status)?$`)],
  ["POST", /^\/api\/sessions$/],
  ["POST", /^\/api\/sessions\/[^/]+\/end$/],
  ["GET", new RegExp(`^/api/sessions/${ID}(?:/(?:actions|status))?$`)],
  ["GET", /^\/api\/hub\/projects$/],
  // Registers only a folder that already has a config.
  ["POST", /^\/api\/hub\/projects$/],
  ["POST", /^\/api\/policy\/test$/],
  ["POST", /^\/api\/hooks\/[^/]+$/],
  ["POST", new RegExp(`^/api/hooks/runs/${ID}(?:/result)?$`)],
  ["POST", /^\/mcp$/],
  ["GET", /^\/mcp$/],
  ["DELETE", /^\/mcp$/],
];

// The dashboard's addresses. Each answers with the same page, which holds no data.
const PAGES =
  /^\/(?:(?:approvals|actions|sessions|policy|team|routes|remediation|analytics|audit|agents|projects|settings)(?:\/[\w.-]+)*)?$/;
const OPEN = ["/healthz", "/login", "/docs", "/docs/style.css"];
const STATIC = /^\/assets\/[\w.-]+$/;

// Programs read what lies below these; every other address can only be one that a person typed.
const PROGRAMS = /^\/+(?:api|mcp|metrics|healthz|openapi\.json|docs|login|assets)(?:[/.]|$)/i;

/** Whether only a person opens an address like this: no route for programs lies there. */
export function isForPeople(path: string): boolean {
  return !PROGRAMS.test(path);
}

/** Whether a credential of this scope may use the route. */
export function isAllowed(scope: Scope, method: string, path: string): boolean {
  if (scope === "reviewer") return true;
  const read = method === "GET" || method === "HEAD";
  if (scope === "viewer") return read;
  const verb = read ? "GET" : method;
  return AGENT_ROUTES.some(([allowed, route]) => allowed === verb && route.test(path));
}

/** Whether the path is an address of the dashboard. */
export function isPage(path: string): boolean {
  return PAGES.test(path);
}

/**
 * Whether the route needs no credential: health, login, the dashboard without its data, and the
 * daemon's proof to a client that has not sent its credential yet.
 */
export function isPublic(method: string, path: string): boolean {
  if (method === "POST") return path === "/api/auth/prove-daemon";
  if (method !== "GET" && method !== "HEAD") return false;
  return OPEN.includes(path) || isPage(path) || STATIC.test(path);
}

/**
 * Rejects agents and viewers: an agent must not review its own action. `command` is the command with
 * which a reviewer does the same, or null. @throws GateError `forbidden`
 */
export function requireReviewer(caller: Caller, verb: string, command: string | null): void {
  if (caller.scope === "reviewer") return;
  const message = `Cannot ${verb}: the credential has scope "${caller.scope}"; ` +
    `a reviewer must do it, in the dashboard${command === null ? "" : ` or with ${command}`}`;
  throw new GateError("forbidden", message);
}

/** @throws GateError `forbidden` */
export function requireNotViewer(caller: Caller, verb: string): void {
  if (caller.scope !== "viewer") return;
  throw new GateError("forbidden", `Cannot ${verb}: a viewer's credential may only read`);
}
