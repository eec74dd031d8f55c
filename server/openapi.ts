import type { MiddlewareHandler } from "hono";
import type { z } from "zod";
import type { AppEnv } from "./context.ts";

/** What a route says of itself, for the OpenAPI document. */
export const DESCRIPTION = Symbol("description");

/** Names a route's purpose and the shape of its good answer. */
export function describe(
  summary: string,
  answer?: z.ZodType,
  status = 200,
): MiddlewareHandler<AppEnv> {
  const handler: MiddlewareHandler<AppEnv> = (_c, next) => next();
  return Object.assign(handler, { [DESCRIPTION]: { summary, answer, status } });
}
