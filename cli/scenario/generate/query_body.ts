import type { PlaybookStep } from "../driver/playbook_schema.ts";
import { isObject } from "../json.ts";
import type { Draft } from "./family.ts";
import { encoded, type Operation } from "./operation.ts";
import { usualFor } from "./sample.ts";

/**
 * The content type that stands for fields in the query. It is never sent: a service that takes its
 * forms in the query is tried with the same fields as one that takes them in a body.
 */
export const QUERY_TYPE = "application/x.query+json";

const WRITES = ["POST", "PUT", "PATCH"];

/** The operation with its query as a body, where it writes and has no other. */
export function withQueryBody(operation: Operation): Operation {
  const query = operation.parameters.filter((one) => one.in === "query");
  if (!WRITES.includes(operation.method) || operation.body || query.length === 0) return operation;
  return {
    ...operation,
    parameters: operation.parameters.filter((one) => one.in !== "query"),
    body: {
      required: query.some(({ required }) => required),
      content_type: QUERY_TYPE,
      schema: {
        type: "object",
        properties: Object.fromEntries(query.map(({ name, schema }) => [name, schema])),
        required: query.filter(({ required }) => required).map(({ name }) => name),
      },
      sample: Object.fromEntries(query.map(({ name, sample }) => [name, usualFor(name, sample)])),
    },
  };
}

interface Request {
  path?: string;
  headers?: Record<string, string>;
  body?: string;
}

/** The request with its fields in the query; null where a query cannot carry what it has. */
export function inQuery<T extends Request>(request: T): T | null {
  const { "Content-Type": type, ...headers } = request.headers ?? {};
  if (type !== QUERY_TYPE) return request;
  const fields = request.body === undefined ? {} : fieldsOf(request.body);
  if (fields === null) return null;
  if (Object.values(fields).some((value) => typeof value === "object")) return null;
  const query = Object.entries(fields).map(([name, value]) => `${encoded(name)}=${encoded(value)}`);
  const { path = "", body: _sent, ...others } = { ...request, headers };
  if (query.length === 0) return { ...others, path } as T;
  return { ...others, path: `${path}${path.includes("?") ? "&" : "?"}${query.join("&")}` } as T;
}

/** The draft with its fields in the query; null where a query cannot carry what it sends. */
export function draftInQuery(draft: Draft): Draft | null {
  const { exec, playbook, operation } = draft;
  const sent = exec === undefined ? undefined : inQuery(exec);
  // A body of another type has no meaning where there is none.
  const isOther = exec?.body !== undefined && sent === exec &&
    operation.body?.content_type === QUERY_TYPE;
  const steps = playbook?.steps.map(inQuery);
  if (sent === null || isOther || steps?.includes(null)) return null;
  return {
    ...draft,
    ...(sent === undefined ? {} : { exec: sent }),
    ...(playbook === undefined
      ? {}
      : { playbook: { ...playbook, steps: steps as PlaybookStep[] } }),
  };
}

function fieldsOf(body: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(body);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
