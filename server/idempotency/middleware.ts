import { createMiddleware } from "hono/factory";
import type { Caller } from "../auth/schema.ts";
import { hexDigestOf } from "../auth/secrets.ts";
import type { AppEnv } from "../route.ts";
import type { Idempotency } from "./idempotency.ts";

type Env = AppEnv<{ daemon: { idempotency: Idempotency }; caller?: Caller }> & {
  Bindings: { caller?: Caller | null };
};

/** Answers a repeated POST with the same `Idempotency-Key` as it answered the first. */
export const idempotent = createMiddleware<Env>(async (c, next) => {
  const key = c.req.header("idempotency-key");
  if (key === undefined || c.req.method !== "POST" || !c.env.caller) return await next();
  const url = new URL(c.req.url);
  const request = {
    scope: senderOf(c.var.caller ?? c.env.caller, c.req.header("x-gate-session")),
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

/** Agents share one credential, so the secret of a session tells them apart. */
function senderOf({ member_id, scope }: Caller, session_secret: string | undefined): string {
  if (member_id !== null) return member_id;
  return session_secret === undefined ? scope : `${scope} ${hexDigestOf(session_secret)}`;
}
