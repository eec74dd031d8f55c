import { ToolError } from "../errors.ts";
import { isObject, valueAt } from "../json.ts";
import { BEARER, type Body, type Credential, type Operation, type Parameter } from "./operation.ts";
import { FORM_TYPE, isForm, withFiles } from "./multipart.ts";
import type { Schema } from "./operation.ts";
import { withQueryBody } from "./query_body.ts";
import { areaOf } from "./recorded.ts";
import { sampleOf } from "./sample.ts";

const METHODS = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];
/** The most operations, a bound against hostile input. */
const OPERATIONS = 5_000;

/** The operations of an OpenAPI 3.0 or 3.1 document, sorted. @throws ToolError for another one */
export function readOpenApi(
  document: unknown,
  lineOf: (path: string[]) => number | null = () => null,
): Operation[] {
  if (
    !isObject(document) || !/^3(\.|$)/.test(String(document.openapi)) || !isObject(document.paths)
  ) {
    throw new ToolError(
      "Cannot read the document: it is not OpenAPI 3.0 or 3.1, or Swagger 2, with paths",
      { next: "give a document that has the keys openapi and paths" },
    );
  }
  const resolve = createResolver(document);
  const found: Operation[] = [];
  for (const [path, raw] of Object.entries(document.paths)) {
    const item = resolve(raw);
    for (const method of METHODS) {
      if (!isObject(item[method])) continue;
      const line = lineOf(["paths", path, method]);
      found.push(operationOf({ document, resolve, path, method, item, line }));
    }
  }
  return found.slice(0, OPERATIONS).sort(byPlace);
}

interface Place {
  document: Record<string, unknown>;
  resolve: (value: unknown) => Schema;
  path: string;
  method: string;
  item: Schema;
  line: number | null;
}

function operationOf(place: Place): Operation {
  const { path, method, item, resolve, line } = place;
  const operation = item[method] as Schema;
  const parameters = parametersOf([item.parameters, operation.parameters], resolve);
  return withQueryBody({
    method: method.toUpperCase(),
    path: path.startsWith("/") ? path : `/${path}`,
    summary: String(
      operation.summary ?? operation.operationId ?? `${method.toUpperCase()} ${path}`,
    ),
    area: tagOrArea(operation, path),
    parameters,
    body: bodyOf(operation.requestBody, resolve),
    statuses: Object.keys(isObject(operation.responses) ? operation.responses : {})
      .filter((status) => /^[1-5]\d\d$/.test(status)).map(Number).sort(),
    security: securityOf(operation.security ?? place.document.security, place),
    source: null,
    line,
    base: basePath(place.document.servers),
  });
}

/** The path of the first server URL, with the defaults of its variables; "" without one. */
function basePath(servers: unknown): string {
  const first: unknown = Array.isArray(servers) ? servers[0] : undefined;
  if (!isObject(first)) return "";
  const variables = isObject(first.variables) ? first.variables : {};
  const url = String(first.url ?? "").replaceAll(/\{([^{}]+)\}/g, (_whole, name: string) => {
    const variable = variables[name];
    return String((isObject(variable) ? variable.default : undefined) ?? "");
  });
  if (!URL.canParse(url, "http://localhost")) return "";
  return new URL(url, "http://localhost").pathname.replace(/\/+$/, "");
}

/** Follows local `$ref`s. A reference that leads nowhere or in a circle is an empty object. */
function createResolver(document: unknown): (value: unknown) => Schema {
  return (value) => {
    const seen = new Set<string>();
    let current = value;
    while (isObject(current) && typeof current.$ref === "string") {
      const reference = current.$ref;
      if (seen.has(reference) || !reference.startsWith("#/")) return {};
      seen.add(reference);
      current = valueAt(document, decoded(reference.slice(1)));
    }
    return isObject(current) ? current : {};
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Joins the parameters. The operation's own replace those of its path. */
function parametersOf(lists: unknown[], resolve: (value: unknown) => Schema): Parameter[] {
  const found = new Map<string, Parameter>();
  for (const raw of lists.flatMap((list) => Array.isArray(list) ? list : [])) {
    const one = resolve(raw);
    const where = String(one.in) as Parameter["in"];
    if (!["path", "query", "header", "cookie"].includes(where) || typeof one.name !== "string") {
      continue;
    }
    const schema = resolve(one.schema ?? firstSchema(one.content));
    const sample = one.example ?? firstExample(one.examples, resolve) ?? sampleOf(schema, resolve);
    const required = where === "path" || one.required === true;
    found.set(`${where} ${one.name}`, { name: one.name, in: where, required, schema, sample });
  }
  return [...found.values()];
}

function bodyOf(raw: unknown, resolve: (value: unknown) => Schema): Body | null {
  const body = resolve(raw);
  if (!isObject(body.content)) return null;
  const types = Object.keys(body.content);
  const content_type = types.find((type) => /json/i.test(type)) ?? types[0];
  if (content_type === undefined) return null;
  const media = resolve(body.content[content_type]);
  const schema = resolve(media.schema);
  const sample =
    parsedSample(media.example ?? firstExample(media.examples, resolve), content_type) ??
      sampleOf(schema, resolve);
  const flat = flatten(schema, resolve);
  const required = body.required === true;
  return isForm(content_type)
    ? { required, content_type: FORM_TYPE, schema: flat, sample: withFiles(sample, flat) }
    : { required, content_type, schema: flat, sample };
}

/** An example that is the text of a JSON document, as that document. */
function parsedSample(sample: unknown, content_type: string): unknown {
  if (typeof sample !== "string" || !/json/i.test(content_type) || !/^\s*[{[]/.test(sample)) {
    return sample;
  }
  try {
    return JSON.parse(sample);
  } catch {
    return sample;
  }
}

/** One object schema with resolved properties, so that families need no resolver. */
function flatten(schema: Schema, resolve: (value: unknown) => Schema): Schema {
  const parts = [schema, ...(Array.isArray(schema.allOf) ? schema.allOf.map(resolve) : [])];
  const properties = Object.assign({}, ...parts.map((part) => part.properties ?? {}));
  const followed = Object.entries(properties).map(([name, value]) => [name, resolve(value)]);
  const required = parts.flatMap((part) => Array.isArray(part.required) ? part.required : []);
  return { ...schema, properties: Object.fromEntries(followed), required };
}

function securityOf(raw: unknown, { document, resolve }: Place): Operation["security"] {
  if (!Array.isArray(raw) || raw.length === 0) return [];
  // An empty alternative makes the credential optional.
  if (raw.some((one) => isObject(one) && Object.keys(one).length === 0)) return [];
  const components = isObject(document.components) ? document.components : {};
  const schemes = isObject(components.securitySchemes) ? components.securitySchemes : {};
  const names = raw.flatMap((one) => isObject(one) ? Object.keys(one) : []);
  return names.map((name) => credentialOf(resolve(schemes[name])));
}

/** The credential of a scheme; without a header for mutual TLS and API keys in the query. */
function credentialOf({ type, scheme, in: where, name }: Schema): Credential {
  if (type === "http" && /^basic$/i.test(String(scheme))) {
    return { header: "Authorization", forged: "Basic YWRtaW46YWRtaW4=" };
  }
  if (type === "apiKey" && where === "header") {
    return { header: String(name), forged: "00000000-0000-4000-8000-000000000000" };
  }
  if (type === "apiKey" && where === "cookie") {
    return { header: "Cookie", forged: `${name}=00000000-0000-4000-8000-000000000000` };
  }
  return type === "apiKey" || type === "mutualTLS" ? { header: null, forged: "" } : BEARER;
}

function tagOrArea(operation: Schema, path: string): string {
  const tag = Array.isArray(operation.tags) ? operation.tags[0] : undefined;
  if (typeof tag === "string" && tag.trim() !== "") return tag.trim().toLowerCase();
  return areaOf(path);
}

function firstSchema(content: unknown): unknown {
  const media = isObject(content) ? Object.values(content)[0] : undefined;
  return isObject(media) ? media.schema : undefined;
}

function firstExample(examples: unknown, resolve: (value: unknown) => Schema): unknown {
  return isObject(examples) ? resolve(Object.values(examples)[0]).value : undefined;
}

function byPlace(a: Operation, b: Operation): number {
  return compare(a.path, b.path) || compare(a.method, b.method);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
