import type { MiddlewareHandler } from "hono";
import { z } from "zod";
import type { AppEnv } from "./context.ts";
import { GateError } from "./errors.ts";
import { SCHEMA } from "./openapi.ts";

type Validated<T extends "json" | "query", S extends z.ZodType> = MiddlewareHandler<
  AppEnv,
  string,
  { in: { [K in T]: z.input<S> }; out: { [K in T]: z.output<S> } }
>;

/** Checks the JSON body, which the guard has read; an empty body counts as `{}`. @throws GateError `invalid` */
export function json<S extends z.ZodType>(schema: S): Validated<"json", S> {
  const handler: Validated<"json", S> = async (c, next) => {
    const body = c.env?.json ?? {};
    c.req.addValidatedData("json", parse(schema, body) as object);
    await next();
  };
  return Object.assign(handler, { [SCHEMA]: { json: schema } });
}

/** Checks the query string; a parameter given twice is refused. @throws GateError `invalid` */
export function query<S extends z.ZodType>(schema: S): Validated<"query", S> {
  const handler: Validated<"query", S> = async (c, next) => {
    const given = c.req.queries();
    for (const [name, values] of Object.entries(given)) {
      if (values.length > 1) {
        throw new GateError("invalid", `Cannot read the query: "${name}" is given twice`);
      }
    }
    c.req.addValidatedData("query", parse(schema, c.req.query()) as object);
    await next();
  };
  return Object.assign(handler, { [SCHEMA]: { query: schema } });
}

/** The value as the schema wants it. @throws GateError `invalid`, naming the first wrong field */
export function parse<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issues = result.error.issues.slice(0, 20).map((issue) => ({
    pointer: pointerOf(issue.path),
    message: issue.message,
  }));
  const first = issues[0];
  throw new GateError("invalid", `Invalid value at "${first?.pointer}": ${first?.message}`, {
    fields: { errors: issues },
  });
}

function pointerOf(path: PropertyKey[]): string {
  return "/" +
    path.map((part) => String(part).replaceAll("~", "~0").replaceAll("/", "~1")).join("/");
}
