import { isObject } from "./references.ts";

/** A JSON Schema as OpenAPI uses it, `$ref`s not yet followed. */
export type Schema = Record<string, unknown>;

/** One parameter of an operation, outside the body. */
export interface Parameter {
  name: string;
  in: "path" | "query" | "header" | "cookie";
  required: boolean;
  schema: Schema;
  /** A value that is known to be good, or a made one. */
  sample: unknown;
}

/** What an operation wants as its body. */
export interface Body {
  required: boolean;
  content_type: string;
  schema: Schema;
  sample: unknown;
}

/** How somebody says who they are. */
export interface Credential {
  /** The header that carries it; null where none does. */
  header: string | null;
  /** One of the right form that nobody issued. */
  forged: string;
}

/** What is meant where a document only says that somebody has to log in. */
export const BEARER: Credential = {
  header: "Authorization",
  forged: "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiJ9.",
};

/** One endpoint with one verb, whatever document it was read from. */
export interface Operation {
  method: string;
  /** With `{name}` where a path parameter goes. */
  path: string;
  summary: string;
  area: string;
  parameters: Parameter[];
  body: Body | null;
  /** Documented statuses, as numbers; `default` and ranges left out. */
  statuses: number[];
  /** The credentials it wants, any one of them; empty when it is open to all. */
  security: Credential[];
  /** The document it stands in, and the line, for reports. */
  source: string | null;
  line: number | null;
  /** The path of the server that the document names first, without a slash at the end. */
  base?: string;
  /** Its place among the requests of a recording. */
  recorded?: number;
}

const LOGOUT = /\/(log-?out|sign-?out|revoke)\/?$/i;
const OWN_LOGIN = /\/(log-?in|sessions?|tokens?|auth)(\/(current|me|self|this))?\/?$/i;

/** True for what ends the caller's own login: sent in a run, everything after it would be refused. */
export function endsLogin({ method, path, security }: Operation): boolean {
  if (security.length === 0) return false;
  return method === "DELETE" ? OWN_LOGIN.test(path) : method === "POST" && LOGOUT.test(path);
}

/** The request that an operation's own samples make, path parameters filled in or `replaced`. */
export function sampleRequest(operation: Operation, replaced: Record<string, string> = {}): {
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: string;
} {
  const query = operation.parameters
    .filter((parameter) => parameter.in === "query" && parameter.required)
    .map(({ name, sample }) => `${encodeURIComponent(name)}=${encodeURIComponent(plain(sample))}`);
  const headers: Record<string, string> = {};
  for (const parameter of operation.parameters) {
    if (parameter.in === "header" && parameter.required) {
      headers[parameter.name] = plain(parameter.sample);
    }
  }
  const path = fillPath(operation, replaced) + (query.length > 0 ? `?${query.join("&")}` : "");
  if (!operation.body) return { method: operation.method, path, headers };
  headers["Content-Type"] = operation.body.content_type;
  return { method: operation.method, path, headers, body: encodeBody(operation.body) };
}

/** The path with its parameters filled in, `replaced` ones by the text given, as it is. */
export function fillPath(operation: Operation, replaced: Record<string, string> = {}): string {
  return operation.path.replaceAll(/\{([^{}]+)\}/g, (_whole, name: string) => {
    const sample = operation.parameters.find((one) => one.in === "path" && one.name === name)
      ?.sample;
    return replaced[name] ?? encodeURIComponent(plain(sample ?? "1"));
  });
}

/** A value as a query, a header or a form field carries it. */
export function plain(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? "");
}

/** A body's sample in its own content type. */
export function encodeBody(
  { content_type, sample }: Pick<Body, "content_type" | "sample">,
): string {
  if (/json/i.test(content_type)) return JSON.stringify(sample ?? null);
  if (/x-www-form-urlencoded/i.test(content_type) && sample && typeof sample === "object") {
    return Object.entries(sample)
      .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(plain(value))}`)
      .join("&");
  }
  return plain(sample);
}

/** True where the body is JSON, which is what most ways of breaking it are about. */
export function isJson({ body }: Operation): boolean {
  return /json/i.test(body?.content_type ?? "");
}

/** The body's sample where it is an object, else an empty one. */
export function objectSample({ body }: Operation): Record<string, unknown> {
  return isObject(body?.sample) ? body.sample : {};
}

/** The members of the body with their schemas. */
export function bodyFields({ body }: Operation): [string, Schema][] {
  const { properties } = body?.schema ?? {};
  return Object.entries(isObject(properties) ? properties : {}) as [string, Schema][];
}
