import type { Credentials } from "./auth/credentials.ts";
import type { AppBindings, Environment } from "./context.ts";
import { admit } from "./guard.ts";
import { parseJson } from "./guard/json.ts";
import { problemResponse, secure } from "./guard/response.ts";
import { toGateError } from "./router.ts";
import { IdleMemory } from "./runtime/memory.ts";
import type { RawRequest } from "./runtime/serve.ts";

/** What answers a request that was let in. */
export interface Router {
  fetch(request: Request, bindings: AppBindings): Response | Promise<Response>;
}

/** The way in: guard, body, router; every answer leaves with the same security headers. */
export function createEntrance(
  router: Router,
  credentials: Credentials,
  log: Environment["log"],
): (request: RawRequest) => Promise<Response> {
  const memory = new IdleMemory();
  return async (raw) => {
    memory.note();
    try {
      return secure(await answer(raw, router, credentials), raw.target);
    } catch (error) {
      return secure(problemResponse(toGateError(error, log)), raw.target);
    }
  };
}

async function answer(
  raw: RawRequest,
  router: Router,
  credentials: Credentials,
): Promise<Response> {
  const { caller, target, body_limit } = admit(raw, credentials);
  const body = body_limit > 0 ? await raw.readBody(body_limit) : null;
  const json = body ? parseJson(body) : undefined;
  // The authority is a constant: nothing behind the guard has a use for the Host.
  const request = new Request(`http://localhost${target.path}${target.query}`, {
    method: raw.method,
    headers: raw.headers,
    body: body && body.length > 0 ? body : null,
  });
  return await router.fetch(request, { caller, json });
}
