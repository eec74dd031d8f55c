import { BEARER, type Operation } from "./operation.ts";
import { recordedBody, recordedOperation } from "./recorded.ts";
import { isObject } from "../json.ts";

const DEPTH = 20;

/** True for a Postman collection, format 2.0 or 2.1. */
export function isPostman(value: unknown): boolean {
  return isObject(value) && isObject(value.info) && Array.isArray(value.item) &&
    /getpostman\.com|postman/i.test(String(value.info.schema ?? "postman"));
}

/** The requests of a collection. The name of a folder is the area of its requests. */
export function readPostman(value: unknown): Operation[] {
  const collection = value as { item: unknown[]; variable?: unknown; auth?: unknown };
  const variables = variablesOf(collection.variable);
  return walk(collection.item, {
    area: null,
    secured: isObject(collection.auth),
    variables,
    depth: 0,
  });
}

interface Context {
  area: string | null;
  secured: boolean;
  variables: Map<string, string>;
  depth: number;
}

function walk(items: unknown[], context: Context): Operation[] {
  if (context.depth > DEPTH) return [];
  return items.filter(isObject).flatMap((item) => {
    const secured = isObject(item.auth) || context.secured;
    if (Array.isArray(item.item)) {
      const area = context.area ?? String(item.name ?? "api").toLowerCase();
      return walk(item.item, { ...context, area, secured, depth: context.depth + 1 });
    }
    return isObject(item.request) ? [operationOf(item, { ...context, secured })] : [];
  });
}

function operationOf(item: Record<string, unknown>, context: Context): Operation {
  const request = item.request as Record<string, unknown>;
  const [path = "/", query = ""] = pathOf(request.url, context.variables).split("?");
  const secured = isObject(request.auth) ? request.auth.type !== "noauth" : context.secured;
  return recordedOperation({
    method: String(request.method ?? "GET").toUpperCase(),
    path,
    summary: String(item.name ?? `${request.method} ${path}`),
    ...(context.area === null ? {} : { area: context.area }),
    query: new URLSearchParams(query),
    body: bodyOf(request.body, context.variables),
    security: secured ? [BEARER] : [],
  });
}

/** The path of a URL whose host may be a variable. `:name` becomes `{name}`. */
function pathOf(url: unknown, variables: Map<string, string>): string {
  const raw = typeof url === "string" ? url : isObject(url) ? String(url.raw ?? "") : "";
  const filled = fill(raw, variables);
  const path = filled.replace(/^[a-z]+:\/\/[^/]*/i, "").replace(/^\{\{[^}]*\}\}/, "");
  const rooted = path.startsWith("/") ? path : `/${path}`;
  return rooted.replaceAll(/\/:([A-Za-z_]\w*)/g, "/{$1}").replaceAll(/\{\{([^}]*)\}\}/g, "{$1}");
}

function bodyOf(body: unknown, variables: Map<string, string>): Operation["body"] {
  if (!isObject(body)) return null;
  if (body.mode === "raw" && typeof body.raw === "string") {
    return recordedBody(fill(body.raw, variables), "application/json");
  }
  if (body.mode === "urlencoded" && Array.isArray(body.urlencoded)) {
    const fields = body.urlencoded.filter(isObject)
      .map((one) => [String(one.key), String(one.value)]);
    const content_type = "application/x-www-form-urlencoded";
    return { required: true, content_type, schema: {}, sample: Object.fromEntries(fields) };
  }
  return null;
}

function variablesOf(list: unknown): Map<string, string> {
  const known = (Array.isArray(list) ? list : []).filter(isObject)
    .filter(({ value }) => value !== undefined)
    .map((one): [string, string] => [String(one.key), String(one.value)]);
  return new Map(known);
}

function fill(text: string, variables: Map<string, string>): string {
  return text.replaceAll(/\{\{([^}]+)\}\}/g, (whole, name: string) => variables.get(name) ?? whole);
}
