import { z } from "zod";
import * as lists from "./actions/list/schema.ts";
import * as actions from "./actions/schema.ts";
import * as audit from "./audit/schema.ts";
import * as auth from "./auth/schema.ts";
import { isAllowed, isPublic } from "./auth/scopes.ts";
import * as config from "./config/schema.ts";
import { VERSION } from "./constants.ts";
import { Problem } from "./errors.ts";
import { Actor, AuditEvent, AuditType, AuditVerification, Checkpoint } from "./evidence/schema.ts";
import * as events from "./events/schema.ts";
import * as grants from "./grants/schema.ts";
import * as global from "./global/schema.ts";
import type { Operation } from "./route.ts";
import * as policy from "./policy/schema.ts";
import * as projects from "./projects/schema.ts";
import * as proof from "./proof/schema.ts";
import * as sessions from "./sessions/schema.ts";

type Json = Record<string, unknown>;

const OF_ACTIONS = [actions, lists, grants];
const CHAIN = { Actor, AuditEvent, AuditType, AuditVerification, Checkpoint };
const MODULES = [
  ...OF_ACTIONS,
  CHAIN,
  audit,
  auth,
  config,
  events,
  global,
  policy,
  projects,
  proof,
  sessions,
];
const WITH_PROJECT = /^\/api\/(?:actions|audit|config|grants|policy|sessions)(?:\/|$)/;

/** The OpenAPI 3.1 document of these routes, from the schemas that validate their input. */
export function createOpenApi(operations: readonly Operation[]): Json {
  const schemas = nameSchemas(operations);
  const paths: Record<string, Json> = {};
  for (const operation of operations) {
    paths[operation.path] ??= {};
    paths[operation.path]![operation.method.toLowerCase()] = toOperation(operation, schemas);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "gate",
      version: VERSION,
      description: "The local server that stands between AI coding agents and your machine.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "http://localhost:47000" }],
    security: [{ token: [] }, { page_key: [] }],
    paths,
    components: {
      securitySchemes: {
        token: { type: "http", scheme: "bearer", description: "the output of `gate token`" },
        page_key: { type: "apiKey", in: "header", name: "X-Gate-Key" },
      },
      schemas: schemas.definitions,
    },
  };
}

interface Schemas {
  definitions: Record<string, Json>;
  nameOf(schema: z.ZodType): string;
}

// A component has the name of its exported schema, else a name from its route.
function nameSchemas(operations: readonly Operation[]): Schemas {
  const names = new Map<z.ZodType, string>([[Problem, "Problem"]]);
  for (const [name, value] of MODULES.flatMap((module) => Object.entries(module))) {
    if (value instanceof z.ZodType && !names.has(value)) names.set(value, name);
  }
  for (const operation of operations) {
    const { answer } = operation;
    if (answer instanceof z.ZodType && !names.has(answer)) names.set(answer, answerName(operation));
    if (operation.json && !names.has(operation.json)) {
      names.set(operation.json, `${answerName(operation)}Input`);
    }
  }
  const registry = z.registry<{ id: string }>();
  for (const [schema, id] of names) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, {
    uri: (id) => `#/components/schemas/${id}`,
    io: "input",
    unrepresentable: "any",
  });
  const definitions: Record<string, Json> = {};
  for (const [id, { $schema: _, $id: __, ...schema }] of Object.entries(schemas)) {
    definitions[id] = schema;
  }
  return { definitions, nameOf: (schema) => names.get(schema)! };
}

function toOperation(operation: Operation, schemas: Schemas): Json {
  const { method, path, summary, json } = operation;
  return {
    summary,
    operationId: operationId(operation),
    tags: [path.split("/").filter((part) => part !== "api")[1] ?? "gate"],
    ...(isPublic(method, path) ? { security: [] } : { "x-scopes": scopesOf(operation) }),
    parameters: [...pathParameters(path), ...queryParameters(operation)],
    ...(json ? { requestBody: { content: jsonContent(schemas.nameOf(json)) } } : {}),
    responses: {
      [operation.status]: goodAnswer(operation, schemas),
      default: {
        description: "A problem document (RFC 9457) with the error `code`",
        content: { "application/problem+json": { schema: reference("Problem") } },
      },
    },
  };
}

function goodAnswer({ answer, summary }: Operation, schemas: Schemas): Json {
  if (answer === undefined) return { description: summary };
  if (typeof answer === "string") {
    return { description: summary, content: { [answer]: { schema: { type: "string" } } } };
  }
  return { description: summary, content: jsonContent(schemas.nameOf(answer)) };
}

function pathParameters(path: string): Json[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
}

function queryParameters({ path, query }: Operation): Json[] {
  const document = z.toJSONSchema(query ?? z.object({}), { io: "input", unrepresentable: "any" });
  const properties: Json = { ...document.properties };
  if (WITH_PROJECT.test(path)) properties["project"] ??= { type: "string" };
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: "query",
    required: document.required?.includes(name) ?? false,
    schema,
  }));
}

function scopesOf({ method, path }: Operation): string[] {
  const example = path.replaceAll(/\{\w+\}/g, "x");
  return auth.Scope.options.filter((scope) => isAllowed(scope, method, example));
}

function operationId({ method, path }: Operation): string {
  const words = path.split("/").filter((part) => part !== "" && part !== "api");
  return [method.toLowerCase(), ...words.map((word) => word.replaceAll(/[{}]/g, ""))]
    .join("_").replaceAll(/[^a-z0-9]+/gi, "_");
}

function answerName(operation: Operation): string {
  return operationId(operation).split("_")
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
}

function jsonContent(name: string): Json {
  return { "application/json": { schema: reference(name) } };
}

function reference(name: string): Json {
  return { $ref: `#/components/schemas/${name}` };
}
