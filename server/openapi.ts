import type { MiddlewareHandler } from "hono";
import { z } from "zod";
import type { AppEnv } from "./context.ts";

/** What a route says of itself, for the OpenAPI document. */
export const DESCRIPTION = Symbol("description");

/** The schemas that a validating middleware checks, for the OpenAPI document. */
export const SCHEMA = Symbol("schema");

export interface Description {
  summary: string;
  /** The good answer: a schema for JSON, else its media type. */
  answer: z.ZodType | string | undefined;
  status: number;
}

/** Names a route's purpose and the shape of its good answer. */
export function describe(
  summary: string,
  answer?: z.ZodType | string,
  status = 200,
): MiddlewareHandler<AppEnv> {
  const handler: MiddlewareHandler<AppEnv> = (_c, next) => next();
  return Object.assign(handler, { [DESCRIPTION]: { summary, answer, status } });
}

/** One route with all that its handlers say of it. */
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

/** The described routes of an app, in its order. */
export function listOperations(routes: readonly Route[]): Operation[] {
  const operations = new Map<string, Operation>();
  for (const { method, path, handler } of routes) {
    const said = handler as {
      [DESCRIPTION]?: Description;
      [SCHEMA]?: { json?: z.ZodType; query?: z.ZodType };
    };
    const key = `${method} ${path}`;
    if (said[DESCRIPTION]) {
      const at = path.replace(/(?<=.)\/$/, "").replaceAll(/:(\w+)/g, "{$1}");
      operations.set(key, { ...said[DESCRIPTION], method, path: at, json: null, query: null });
    }
    const operation = operations.get(key);
    if (operation) Object.assign(operation, said[SCHEMA] ?? {});
  }
  return [...operations.values()];
}
