import { isObject } from "../json.ts";

type Members = Record<string, unknown>;

/** True for a Swagger 2 document. */
export function isSwagger2(value: unknown): value is Members {
  return isObject(value) && /^2(\.0)?$/.test(String(value.swagger)) && isObject(value.paths);
}

/** The same document as OpenAPI 3. References to `#/definitions` stay, because they resolve. */
export function fromSwagger2(document: Members): Members {
  const { basePath, securityDefinitions, consumes } = document;
  const paths = Object.entries(document.paths as Members).map(([path, item]) => [
    path,
    isObject(item) ? itemOf(item, document, listOf(consumes)) : item,
  ]);
  const schemes = Object.entries(isObject(securityDefinitions) ? securityDefinitions : {})
    .map(([name, one]) => [name, isObject(one) ? schemeOf(one) : one]);
  return {
    ...document,
    openapi: "3.0.3",
    servers: [{ url: typeof basePath === "string" ? basePath : "" }],
    components: { securitySchemes: Object.fromEntries(schemes) },
    paths: Object.fromEntries(paths),
  };
}

const VERBS = new Set(["get", "put", "post", "delete", "options", "head", "patch"]);

function itemOf(item: Members, document: Members, consumes: string[]): Members {
  const shared = parametersOf(item.parameters, document);
  const members = Object.entries(item).map(([verb, operation]) => {
    if (!VERBS.has(verb) || !isObject(operation)) return [verb, operation];
    const own = parametersOf(operation.parameters, document);
    const all = [...shared.filter((one) => !own.some((two) => two.name === one.name)), ...own];
    const types = listOf(operation.consumes ?? consumes);
    const requestBody = bodyOf(all, types);
    const parameters = all.filter((one) => one.in !== "body" && one.in !== "formData")
      .map((one) => ({ ...one, schema: one }));
    return [verb, { ...operation, parameters, ...(requestBody ? { requestBody } : {}) }];
  });
  return { ...Object.fromEntries(members), parameters: [] };
}

/** The parameters, with references to `#/parameters` followed. */
function parametersOf(list: unknown, document: Members): Members[] {
  const known = isObject(document.parameters) ? document.parameters : {};
  return (Array.isArray(list) ? list : []).map((one) => {
    const name = isObject(one) && typeof one.$ref === "string" ? one.$ref.split("/").at(-1)! : null;
    return name === null ? one : known[name];
  }).filter(isObject);
}

function bodyOf(parameters: Members[], types: string[]): Members | null {
  const whole = parameters.find((one) => one.in === "body");
  if (whole) {
    const type = types.find((one) => /json/i.test(one)) ?? types[0] ?? "application/json";
    return { required: whole.required === true, content: { [type]: { schema: whole.schema } } };
  }
  const fields = parameters.filter((one) => one.in === "formData");
  if (fields.length === 0) return null;
  const hasFile = fields.some((one) => one.type === "file");
  const type = hasFile
    ? "multipart/form-data"
    : types.find((one) => /form/i.test(one)) ?? "application/x-www-form-urlencoded";
  const schema = {
    type: "object",
    properties: Object.fromEntries(
      fields.map((one) => [one.name, { ...one, required: undefined }]),
    ),
    required: fields.filter((one) => one.required === true).map((one) => one.name),
  };
  return { required: true, content: { [type]: { schema } } };
}

function schemeOf(scheme: Members): Members {
  return scheme.type === "basic" ? { type: "http", scheme: "basic" } : scheme;
}

function listOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
