import { randomBytes } from "node:crypto";
import type { Exec, Scenario } from "../schema.ts";
import type { HttpRequest } from "./http.ts";

/** The parts that a run adds to the requests of its scenarios. */
export interface RequestOptions {
  /** Added to every request; a scenario's own header of the same name wins. */
  headers: Record<string, string>;
  /** The headers of the first `--as`, for requests that name no identity. */
  identity: Record<string, string>;
  /** Fills in the secrets. */
  fill: (text: string) => string;
  /** Returns a new value for `{{uniq}}`. */
  uniq: () => string;
}

/** A request whose headers are optional. */
export type RequestDraft = Omit<HttpRequest, "headers"> & Partial<Pick<HttpRequest, "headers">>;

/** The request that a scenario in http mode sends. */
export function requestOf(
  { exec }: Scenario,
  options: RequestOptions,
  uniq = options.uniq(),
): HttpRequest {
  const { method = "GET", path = "", headers = {}, body, anonymous } = exec!;
  return prepareRequest({ method, path, headers, body }, options, { uniq, anonymous });
}

/** Fills in and adds everything; `anonymous` leaves the credentials of the run out. */
export function prepareRequest(
  { method, path, headers = {}, body }: RequestDraft,
  options: Omit<RequestOptions, "uniq">,
  { uniq, anonymous = false }: { uniq: string; anonymous?: boolean },
): HttpRequest {
  const fill = (text: string) => options.fill(text.replaceAll("{{uniq}}", uniq));
  const base = anonymous
    ? withoutCredentials(options.headers)
    : mergeHeaders(options.identity, options.headers);
  const filled = Object.entries(mergeHeaders(base, headers))
    .map(([name, value]) => [name, fill(value)]);
  return {
    method,
    path: fill(path),
    headers: Object.fromEntries(filled),
    body: body === undefined ? undefined : fill(body),
  };
}

/** Returns a function whose values are unique in this run and across runs. */
export function createUniq(): () => string {
  const run = randomBytes(5).toString("hex");
  let n = 0;
  return () => `${run}${String(++n).padStart(4, "0")}`;
}

/** True for a request with `{{uniq}}`, which asks for something new in each round. */
export function isUniq({ path = "", headers = {}, body = "" }: Exec): boolean {
  return [path, body, ...Object.entries(headers).flat()].some((text) => text.includes("{{uniq}}"));
}

/** Names of headers that carry a credential. */
const CREDENTIAL = /^(authorization|proxy-authorization|cookie|x-.*(key|token|auth).*)$/i;

/** Joins both sets of headers. Of equal names, ignoring case, the second set wins. */
export function mergeHeaders(
  base: Record<string, string>,
  own: Record<string, string>,
): Record<string, string> {
  const taken = new Set(Object.keys(own).map((name) => name.toLowerCase()));
  const kept = Object.entries(base).filter(([name]) => !taken.has(name.toLowerCase()));
  return { ...Object.fromEntries(kept), ...own };
}

/** True for a header that carries a credential. */
export function isCredential(name: string): boolean {
  return CREDENTIAL.test(name);
}

/** The headers without credentials. */
export function withoutCredentials(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !isCredential(name)));
}
