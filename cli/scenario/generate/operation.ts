import { isObject } from "../json.ts";
import { encodeForm, isForm } from "./multipart.ts";

/** A JSON Schema as OpenAPI uses it, with unresolved `$ref`s. */
export type Schema = Record<string, unknown>;

/** One parameter of an operation, outside the body. */
export interface Parameter {
  name: string;
  in: "path" | "query" | "header" | "cookie";
  required: boolean;
  schema: Schema;
  /** The documented example, or a generated value. */
  sample: unknown;
}

/** The body of an operation. */
export interface Body {
  required: boolean;
  content_type: string;
  schema: Schema;
  sample: unknown;
}

/** How an operation is told who calls it. */
export interface Credential {
  /** The header that carries it; null when no header does. */
  header: string | null;
  /** A value of the right form that nobody issued. */
  forged: string;
}

/** The default when a document requires a login without naming its form. */
export const BEARER: Credential = {
  header: "Authorization",
  forged: "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiJ9.",
};

/** One endpoint with one verb, read from any kind of document. */
export interface Operation {
  method: string;
  /** With `{name}` for each path parameter. */
  path: string;
  summary: string;
  area: string;
  parameters: Parameter[];
  body: Body | null;
  /** The documented statuses, without `default` and ranges. */
  statuses: number[];
  /** The credentials that it accepts; empty when it needs none. */
  security: Credential[];
  /** The document and the line, for reports. */
  source: string | null;
  line: number | null;
  /** The path of the first documented server, without a slash at the end. */
  base?: string;
  /** Its index in a recording. */
  recorded?: number;
  /** A reading verb that changes data all the same, as its name says. */
  changes?: boolean;
  /** Not in the document: it was found at the target. */
  unlisted?: boolean;
  /** Neither the document nor any answer of the rehearsal asks for a login, for any operation. */
  is_public?: boolean;
  /** Of a login: the name of a user who exists. */
  known_user?: string;
  /** Set when a rehearsal succeeded with the samples of this operation. */
  learned?: {
    /** The identity that succeeded; null for the login of the run, or none. */
    as: string | null;
    /** A value in the path belongs to that identity alone. */
    owned: boolean;
    changes: boolean;
    /** The path parameter for a user's name or number, and the identity's own by its login. */
    own_name?: { name: string; value: string };
    /** The same for a field of the body. */
    own_field?: { name: string; value: string };
    /** The fields that name a record which only that identity was shown. */
    own_references?: { name: string; value: string }[];
    /** The member of the answer that says how much money the identity has. */
    balance?: string;
    /** The path parameters of the other identities, by their names. */
    others?: Record<string, Record<string, string>>;
  };
}

const CHANGING =
  /(^|\/)(create|reset|delete|drop|init|seed|purge|populate|clear|wipe|destroy|remove|flush|migrate|shutdown|restart)[\w-]*\/?$/i;
const CHANGES =
  /^(creates?|resets?|deletes?|drops?|removes?|purges?|populates?|clears?|wipes?|initiali[sz]es?|shuts? down|restarts?)\b/i;

/** True for a GET whose path or summary says that it changes data. */
export function seemsToChange({ method, path, summary }: Operation): boolean {
  return ["GET", "HEAD"].includes(method) && (CHANGING.test(path) || CHANGES.test(summary.trim()));
}

const LOGOUT = /\/(log-?out|sign-?out|revoke)\/?$/i;
const OWN_LOGIN = /\/(log-?in|sessions?|tokens?|auth)(\/(current|me|self|this))?\/?$/i;

/** True for a logout. In a run, the target would refuse everything after it. */
export function endsLogin({ method, path, security }: Operation): boolean {
  if (security.length === 0) return false;
  return method === "DELETE" ? OWN_LOGIN.test(path) : method === "POST" && LOGOUT.test(path);
}

const ENDS_SERVICE =
  /\/(maintenance|maintenance-mode|read-?only|shut-?down|restart|reboot|halt|power-?off)\/?$/i;

/** True for an operation that takes the whole service away from everybody, as its path says. */
export function endsService({ method, path }: Operation): boolean {
  return !["GET", "HEAD", "OPTIONS"].includes(method) && ENDS_SERVICE.test(path);
}

/** The parameters in the path of an operation. */
export function pathParametersOf({ parameters }: Operation): Parameter[] {
  return parameters.filter((one) => one.in === "path");
}

/** The request with the operation's samples; `replaced` gives the values of path parameters. */
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

/** The path with its parameters filled in. Values in `replaced` are inserted unencoded. */
export function fillPath(operation: Operation, replaced: Record<string, string> = {}): string {
  return operation.path.replaceAll(/\{([^{}]+)\}/g, (_whole, name: string) => {
    const known = operation.parameters.find((one) => one.in === "path" && one.name === name);
    return replaced[name] ?? encodeURIComponent(plain(known?.sample ?? "1"));
  });
}

/** A value as text for a query, a header or a form field. */
export function plain(value: unknown): string {
  return typeof value === "string" ? value.toWellFormed() : JSON.stringify(value ?? "");
}

/** A value for a query or a form. A placeholder keeps its braces, so that it is filled in. */
export function encoded(value: unknown): string {
  return encodeURIComponent(plain(value)).replaceAll(/%7B%7B(\w+)%7D%7D/g, "{{$1}}");
}

/** A body's sample in its own content type. */
export function encodeBody(
  { content_type, sample }: Pick<Body, "content_type" | "sample">,
): string {
  if (/json/i.test(content_type)) return JSON.stringify(sample ?? null);
  if (/x-www-form-urlencoded/i.test(content_type) && sample && typeof sample === "object") {
    return Object.entries(sample)
      .map(([name, value]) => `${encodeURIComponent(name)}=${encoded(value)}`)
      .join("&");
  }
  if (isForm(content_type) && isObject(sample)) return encodeForm(sample, plain);
  return plain(sample);
}

/** True when the body is JSON. */
export function isJson({ body }: Operation): boolean {
  return /json/i.test(body?.content_type ?? "");
}

/** True when the body is JSON or a form, whose fields can be replaced one by one. */
export function hasFields({ body }: Operation): boolean {
  return /json|x-www-form-urlencoded/i.test(body?.content_type ?? "");
}

/** The sample body with other values for some fields, in its own content type. */
export function bodyWith(operation: Operation, values: Record<string, unknown>): string {
  const { content_type } = operation.body!;
  return encodeBody({ content_type, sample: { ...objectSample(operation), ...values } });
}

/** The sample of the body if it is an object; else an empty object. */
export function objectSample({ body }: Operation): Record<string, unknown> {
  return isObject(body?.sample) ? body.sample : {};
}

/** The members of the body with their schemas. */
export function bodyFields({ body }: Operation): [string, Schema][] {
  const { properties } = body?.schema ?? {};
  return Object.entries(isObject(properties) ? properties : {}) as [string, Schema][];
}
