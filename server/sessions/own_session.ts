import { createMiddleware } from "hono/factory";
import type { Caller } from "../auth/schema.ts";
import { GateError } from "../errors.ts";
import type { AppEnv } from "../route.ts";
import type { Sessions } from "./sessions.ts";

interface Services {
  caller: Caller;
  project: { sessions: Sessions };
}

const NAMED = /^\/api\/(action|session)s\/(?!reject$)([^/]+)/;

/**
 * Lets an agent name only sessions whose secret it sends as `X-Gate-Session`, and their actions, in
 * the path and in the body. Another's session is answered like an unknown one.
 */
export const ownSession = createMiddleware<AppEnv<Services>>(async (c, next) => {
  const { caller, project: { sessions } } = c.var;
  if (caller.scope === "agent") {
    const [, kind, id] = NAMED.exec(c.req.path) ?? [];
    if (kind === "action" && !await sessions.isOpenTo(caller, { of: "action", id: id! })) {
      const where = c.req.query("project") ? "this" : "any";
      throw new GateError("not_found", `Cannot find action "${id}" in ${where} project`, {
        fields: { unknown: "action" },
      });
    }
    const { session_id } = Object(c.env.json) as { session_id?: unknown };
    for (const named of [kind === "session" ? id : undefined, session_id]) {
      if (typeof named !== "string") continue;
      if (await sessions.isOpenTo(caller, { of: "session", id: named })) continue;
      throw new GateError("not_found", `Cannot find session "${named}" in this project`, {
        fields: { unknown: "session" },
      });
    }
  }
  await next();
});
