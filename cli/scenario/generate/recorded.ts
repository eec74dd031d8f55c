import type { Operation, Parameter, Schema } from "./operation.ts";
import { isObject } from "../json.ts";

/** An operation that a recording or a text shows, of which little else is known. */
export function recordedOperation(
  { query = [], ...given }: Pick<Operation, "method" | "path"> & Partial<Operation> & {
    query?: Iterable<[string, string]>;
  },
): Operation {
  const { method, path } = given;
  return {
    summary: `${method} ${path}`,
    area: areaOf(path),
    parameters: [
      ...pathParameters(path),
      ...[...query].map(([name, value]) => queryParameter(name, value)),
    ],
    body: null,
    statuses: [],
    security: [],
    source: null,
    line: null,
    ...given,
  };
}

/** A query parameter with its recorded value as the sample. */
function queryParameter(name: string, value: string): Parameter {
  const type = /^-?\d+$/.test(value) ? "integer" : "string";
  return { name, in: "query", required: true, schema: { type }, sample: value };
}

/** A recorded body with a schema derived from its content. */
export function recordedBody(text: string, content_type: string): Operation["body"] {
  let sample: unknown = text;
  try {
    if (/json/i.test(content_type)) sample = JSON.parse(text);
  } catch {
    // A broken JSON body is sent as it was recorded.
  }
  return { required: true, content_type, schema: schemaOf(sample), sample };
}

/** The first word of a path that is not a prefix such as `api` or `v1`. */
export function areaOf(path: string): string {
  const words = path.split("/").filter((word) =>
    word !== "" && !/^(api|v\d+|\{.*\}|:.*)$/i.test(word)
  );
  return (words[0] ?? "api").toLowerCase().slice(0, 60);
}

function schemaOf(sample: unknown): Schema {
  if (!isObject(sample)) return { type: Array.isArray(sample) ? "array" : typeof sample };
  const fields = Object.entries(sample).map(([name, value]) => [name, { type: typeName(value) }]);
  return { type: "object", properties: Object.fromEntries(fields), required: [] };
}

function typeName(value: unknown): string {
  if (Array.isArray(value)) return "array";
  return value === null ? "null" : typeof value;
}

/** The `{name}` parts of a path as string parameters. */
function pathParameters(path: string): Parameter[] {
  return [...path.matchAll(/\{([^{}]+)\}/g)].map(([, name]) => ({
    name: name!,
    in: "path",
    required: true,
    schema: { type: "string" },
    sample: "1",
  }));
}
