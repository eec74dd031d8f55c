import { BEARER, type Operation } from "./operation.ts";
import { recordedBody, recordedOperation } from "./recorded.ts";
import { isObject } from "../json.ts";

/** Headers with credentials, which must not get from a recording into a test. */
const CREDENTIALS =
  /^(authorization|cookie|set-cookie|proxy-authorization|x-api-key|x-auth-token|x-csrf-token)$/i;
/** The most entries that are read. A long recording holds tens of thousands. */
const ENTRIES = 20_000;

/** True for a HAR recording, the export of a browser's network panel. */
export function isHar(value: unknown): boolean {
  return isObject(value) && isObject(value.log) && Array.isArray(value.log.entries);
}

/** The distinct requests of a recording, without credentials. */
export function readHar(value: unknown): Operation[] {
  const entries = (value as { log: { entries: unknown[] } }).log.entries.slice(0, ENTRIES);
  const found = new Map<string, Operation>();
  entries.forEach((entry, recorded) => {
    const operation = isObject(entry) ? operationOf(entry) : null;
    const key = `${operation?.method} ${operation?.path}`;
    if (operation && !found.has(key)) found.set(key, { ...operation, recorded });
  });
  return [...found.values()];
}

function operationOf(entry: Record<string, unknown>): Operation | null {
  const request = isObject(entry.request) ? entry.request : {};
  const url = URL.canParse(String(request.url)) ? new URL(String(request.url)) : null;
  if (!url || !/^https?:$/.test(url.protocol)) return null;
  const headers = pairs(request.headers);
  const response = isObject(entry.response) ? Number(entry.response.status) : 0;
  return recordedOperation({
    method: String(request.method ?? "GET").toUpperCase(),
    path: url.pathname,
    summary: `a recorded ${request.method} ${url.pathname}`,
    query: pairs(request.queryString),
    body: bodyOf(request.postData),
    statuses: response >= 100 && response <= 599 ? [response] : [],
    security: headers.some(([name]) => CREDENTIALS.test(name)) ? [BEARER] : [],
  });
}

function bodyOf(post: unknown): Operation["body"] {
  if (!isObject(post) || typeof post.text !== "string") return null;
  return recordedBody(post.text, String(post.mimeType ?? "application/json"));
}

function pairs(list: unknown): [string, string][] {
  return (Array.isArray(list) ? list : []).filter(isObject)
    .map((one) => [String(one.name), String(one.value)]);
}
