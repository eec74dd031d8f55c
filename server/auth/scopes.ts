import type { Scope } from "./schema.ts";

/** What an agent may do; everything that is not named here it may not. */
const AGENT_ROUTES: [method: string, path: RegExp][] = [
  ["POST", /^\/api\/actions$/],
  ["POST", /^\/api\/actions\/[^/]+\/(?:wait|claim|result|cancel)$/],
  ["GET", /^\/api\/actions\/[^/]+(?:\/status)?$/],
  ["POST", /^\/api\/sessions$/],
  ["POST", /^\/api\/sessions\/[^/]+\/end$/],
  ["GET", /^\/api\/sessions\/[^/]+(?:\/(?:actions|status))?$/],
  ["GET", /^\/api\/hub\/projects$/],
  // Only ever adds a folder whose config stands there already.
  ["POST", /^\/api\/hub\/projects$/],
  ["POST", /^\/api\/policy\/test$/],
  ["POST", /^\/api\/hooks\/[^/]+$/],
  ["POST", /^\/mcp$/],
  ["GET", /^\/mcp$/],
  ["DELETE", /^\/mcp$/],
];

// The dashboard's own addresses: each answers with the page, which holds no data.
const PAGES =
  /^\/(?:(?:approvals|actions|sessions|policy|team|routes|remediation|analytics|audit|agents|projects|settings)(?:\/[\w.-]+)*)?$/;
const OPEN = ["/healthz", "/login", "/docs", "/docs/style.css"];
const STATIC = /^\/assets\/[\w.-]+$/;

/** Whether this scope may use that route. */
export function isAllowed(scope: Scope, method: string, path: string): boolean {
  if (scope === "reviewer") return true;
  const read = method === "GET" || method === "HEAD";
  if (scope === "viewer") return read;
  const verb = read ? "GET" : method;
  return AGENT_ROUTES.some(([allowed, route]) => allowed === verb && route.test(path));
}

/** Whether this is an address of the dashboard, answered with its page. */
export function isPage(path: string): boolean {
  return PAGES.test(path);
}

/** Whether no credential is asked for: health, logging in, and the dashboard without its data. */
export function isPublic(method: string, path: string): boolean {
  if (method !== "GET" && method !== "HEAD") return false;
  return OPEN.includes(path) || isPage(path) || STATIC.test(path);
}
