import { isForPeople, isPage } from "../auth/scopes.ts";
import { GateError } from "../errors.ts";
import type { RawRequest } from "../runtime/serve.ts";

type Headers = RawRequest["headers"];

const NAMES = ["127.0.0.1", "localhost", "[::1]"];

/** Requires exactly one Host, a loopback name. This stops DNS rebinding. @throws GateError `misdirected` */
export function checkHost(headers: Headers, port: number): void {
  const hosts = valuesOf(headers, "host");
  if (hosts.length === 1 && NAMES.some((name) => hosts[0] === `${name}:${port}`)) return;
  throw new GateError("misdirected", `Cannot answer for this Host: use http://localhost:${port}`);
}

/** Accepts no Origin or the dashboard's, compared as text. @throws GateError `forbidden` */
export function checkOrigin(headers: Headers, port: number): void {
  const origins = valuesOf(headers, "origin");
  if (origins.length === 0) return;
  if (origins.length === 1 && NAMES.some((name) => origins[0] === `http://${name}:${port}`)) return;
  throw new GateError(
    "forbidden",
    "Cannot answer another site: this Origin is not the dashboard's",
  );
}

/**
 * Checks the site that a browser names as the sender. Accepts the dashboard, a person's own input,
 * and links from elsewhere to a page, because pages hold no data. @throws GateError `forbidden`
 */
export function checkFetchSite(request: RawRequest, path: string): void {
  const sites = valuesOf(request.headers, "sec-fetch-site");
  if (sites.length === 0) return;
  if (sites.length === 1 && (sites[0] === "same-origin" || sites[0] === "none")) return;
  if (sites.length === 1 && isNavigation(request) && isPage(path)) return;
  throw new GateError("forbidden", "Cannot answer another site: open the dashboard itself");
}

/** Whether a person opens an address that gate does not have; the answer is a page without data. */
export function isLost(request: RawRequest, path: string): boolean {
  return isNavigation(request) && isForPeople(path);
}

function isNavigation(request: RawRequest): boolean {
  return request.method === "GET" &&
    valuesOf(request.headers, "sec-fetch-mode").join() === "navigate" &&
    valuesOf(request.headers, "sec-fetch-dest").join() === "document";
}

/** Every value of a header. */
export function valuesOf(headers: Headers, name: string): string[] {
  const values: string[] = [];
  for (const line of headers) if (line[0] === name) values.push(line[1]);
  return values;
}
