import type { MiddlewareHandler } from "hono";
import type { z } from "zod";
import { GateError } from "./errors.ts";
import { parse } from "./parse.ts";

/**
 * The Hono environment of a feature's routes. A feature names the services that it reads from
 * `c.var`; `server/api.ts` fails to compile when the gate does not provide one of them.
 */
export interface AppEnv<Services extends object = object> {
  Bindings: {
    /** The parsed body; undefined when the request has none. */
    json?: unknown;
    /** Aborted when the client no longer waits for the answer. */
    gone?: () => AbortSignal;
  };
  Variables: Services;
}

/** Holds the description of a route. */
const DESCRIPTION = Symbol("description");
/** Holds the schemas that a validating middleware checks. */
const SCHEMA = Symbol("schema");

interface Description {
  summary: string;
  /** The successful answer: a schema for JSON, else its media type. */
  answer: z.ZodType | string | undefined;
  status: number;
}

/** Documents a route: its purpose, its successful answer and that answer's status. */
export function describe(
  summary: string,
  answer?: z.ZodType | string,
  status = 200,
): MiddlewareHandler<AppEnv> {
  const handler: MiddlewareHandler<AppEnv> = (_c, next) => next();
  return Object.assign(handler, { [DESCRIPTION]: { summary, answer, status } });
}

type Validated<T extends "json" | "query", S extends z.ZodType> = MiddlewareHandler<
  AppEnv,
  string,
  { in: { [K in T]: z.input<S> }; out: { [K in T]: z.output<S> } }
>;

/** Validates the JSON body; an empty body counts as `{}`. @throws GateError `invalid` */
export function json<S extends z.ZodType>(schema: S): Validated<"json", S> {
  const handler: Validated<"json", S> = async (c, next) => {
    const body = c.env?.json ?? {};
    c.req.addValidatedData("json", parse(schema, body) as object);
    await next();
  };
  return Object.assign(handler, { [SCHEMA]: { json: schema } });
}

/** Validates the query string; rejects a parameter given twice. @throws GateError `invalid` */
export function query<S extends z.ZodType>(schema: S): Validated<"query", S> {
  const handler: Validated<"query", S> = async (c, next) => {
    for (const [name, values] of Object.entries(c.req.queries())) {
      if (values.length > 1) {
        throw new GateError(
          "invalid",
          `Cannot read the query: "${name}" is given twice; give it once`,
        );
      }
    }
    c.req.addValidatedData("query", parse(schema, c.req.query()) as object);
    await next();
  };
  return Object.assign(handler, { [SCHEMA]: { query: schema } });
}

/** A described route with the schemas of its input. */
export interface Operation extends Description {
  method: string;
  /** In OpenAPI's form: `/api/actions/{id}`. */
  path: string;
  json: z.ZodType | null;
  query: z.ZodType | null;
}

interface Route {
  method: string;
  path: string;
  handler: unknown;
}

/** The described routes, in the order in which they are mounted. */
export function listOperations(routes: readonly Route[]): Operation[] {
  const operations = new Map<string, Operation>();
  for (const { method, path, handler } of routes) {
    const noted = handler as {
      [DESCRIPTION]?: Description;
      [SCHEMA]?: { json?: z.ZodType; query?: z.ZodType };
    };
    const key = `${method} ${path}`;
    if (noted[DESCRIPTION]) {
      const template = path.replace(/(?<=.)\/$/, "").replaceAll(/:(\w+)/g, "{$1}");
      const operation = { ...noted[DESCRIPTION], method, path: template, json: null, query: null };
      operations.set(key, operation);
    }
    const operation = operations.get(key);
    if (operation) Object.assign(operation, noted[SCHEMA] ?? {});
  }
  return [...operations.values()];
}
