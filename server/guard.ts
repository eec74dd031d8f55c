import type { Credentials } from "./auth/credentials.ts";
import type { PageKeys } from "./auth/login.ts";
import type { Caller } from "./auth/schema.ts";
import { isAllowed, isPublic } from "./auth/scopes.ts";
import { REQUEST_LIMITS } from "./constants.ts";
import type { Environment } from "./environment.ts";
import { GateError } from "./errors.ts";
import { bodyLimit, checkContentType, hasBody } from "./guard/body.ts";
import { parseJson } from "./guard/json.ts";
import { checkFetchSite, checkHost, checkOrigin, isLost, valuesOf } from "./guard/origin.ts";
import { problemResponse, secure, toGateError } from "./guard/response.ts";
import { signAnswer } from "./guard/signed_answer.ts";
import { parseTarget, type Target } from "./guard/target.ts";
import { IdleMemory } from "./runtime/memory.ts";
import type { RawRequest } from "./runtime/serve.ts";

/** A request as the guard found it. */
export interface Admitted {
  /** Null on routes that require no credential. */
  caller: Caller | null;
  /** The parsed body; undefined when the request has none. */
  json: unknown;
  /** The checked `Host`, which names our port; null over the unix socket. */
  host?: string | null;
  /** Aborted when the client no longer waits for the answer. */
  gone?: () => AbortSignal;
}

/** Answers the requests that the guard admits. */
export interface Guarded {
  fetch(request: Request, admitted: Admitted): Response | Promise<Response>;
}

/** Checks each raw request, then passes it to the app. Adds the security headers to every answer. */
export function createGuard(
  app: Guarded,
  credentials: Credentials,
  { keys, log }: { keys: PageKeys; log: Environment["log"] },
): (request: RawRequest) => Promise<Response> {
  const memory = new IdleMemory();
  return async (raw) => {
    memory.note();
    const given = await answer(raw, app, credentials)
      .catch((error) => problemResponse(toGateError(error, log)));
    return signAnswer(secure(given, raw.target), raw, keys);
  };
}

async function answer(raw: RawRequest, app: Guarded, credentials: Credentials): Promise<Response> {
  const { caller, target, body_limit } = admit(raw, credentials);
  const body = body_limit > 0 ? await raw.readBody(body_limit) : null;
  const json = body ? parseJson(body) : undefined;
  // The authority is a constant, because no route reads the Host.
  const request = new Request(`http://localhost${target.path}${target.query}`, {
    method: raw.method,
    headers: raw.headers,
    body: body && body.length > 0 ? body : null,
  });
  const host = raw.port === null ? null : valuesOf(raw.headers, "host")[0]!;
  return await app.fetch(request, { caller, json, host, gone: () => raw.signal });
}

interface Admission {
  caller: Caller | null;
  target: Target;
  /** The most bytes that the body may have; 0 when there is none. */
  body_limit: number;
}

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

/**
 * Rejects every request that a web page, another program or a wrong credential could have sent.
 * The order of the checks is part of the contract. @throws GateError
 */
function admit(request: RawRequest, credentials: Credentials): Admission {
  if (request.port !== null) checkHost(request.headers, request.port);
  checkSize(request);
  const target = parseTarget(request.target);
  if (request.port !== null) {
    checkOrigin(request.headers, request.port);
    checkFetchSite(request, target.path);
  }
  checkMethod(request.method);
  const isOpen = isPublic(request.method, target.path) || isLost(request, target.path);
  const caller = isOpen ? null : credentials.identify(request.headers);
  if (caller && !isAllowed(caller.scope, request.method, target.path)) {
    throw new GateError(
      "forbidden",
      `Cannot ${request.method} ${target.path} with a credential of scope "${caller.scope}": ` +
        `the scope does not allow it; a person can do it in the dashboard or with the gate command`,
    );
  }
  if (!hasBody(request)) return { caller, target, body_limit: 0 };
  checkContentType(request);
  return { caller, target, body_limit: bodyLimit(request, target.path) };
}

function checkSize(request: RawRequest): void {
  if (request.headers.length > REQUEST_LIMITS.header_lines) {
    const limit = REQUEST_LIMITS.header_lines;
    throw new GateError("headers_too_large", `Cannot read the request: over ${limit} header lines`);
  }
  if (request.target.length > REQUEST_LIMITS.url_bytes) {
    const limit = REQUEST_LIMITS.url_bytes;
    throw new GateError("headers_too_large", `Cannot read the address: it is over ${limit} bytes`);
  }
}

function checkMethod(method: string): void {
  if (METHODS.includes(method)) return;
  throw new GateError("method_not_allowed", "Cannot answer: gate does not support this method", {
    fields: { allow: METHODS },
  });
}
