import { createMiddleware } from "hono/factory";
import type { AppEnv } from "../context.ts";

/** Honours `Idempotency-Key` on a POST: the same request again gets the same answer again. */
export const idempotent = createMiddleware<AppEnv>(async (c, next) => {
  const key = c.req.header("idempotency-key");
  if (key === undefined || c.req.method !== "POST" || !c.env.caller) return await next();
  const url = new URL(c.req.url);
  const request = {
    scope: c.env.caller.scope,
    key,
    method: c.req.method,
    path: url.pathname + url.search,
    json: c.env.json,
  };
  const { status, body, replayed } = await c.var.daemon.idempotency.answer(request, async () => {
    await next();
    return c.res;
  });
  const headers = new Headers(c.res?.headers);
  headers.set("content-type", status < 400 ? "application/json" : "application/problem+json");
  if (replayed) headers.set("idempotency-replayed", "true");
  c.res = new Response(body, { status, headers });
});
