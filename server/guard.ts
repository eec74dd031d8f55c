import type { Credentials } from "./auth/credentials.ts";
import type { Caller } from "./auth/schema.ts";
import { isAllowed, isPublic } from "./auth/scopes.ts";
import { REQUEST_LIMITS } from "./constants.ts";
import { GateError } from "./errors.ts";
import { checkFetchSite, checkHost, checkOrigin } from "./guard/origin.ts";
import { bodyLimit, checkContentType, hasBody } from "./guard/body.ts";
import { parseTarget, type Target } from "./guard/target.ts";
import type { RawRequest } from "./runtime/serve.ts";

/** What the guard found out about a request it lets in. */
export interface Admission {
  /** Null where no credential is asked for. */
  caller: Caller | null;
  target: Target;
  /** How long the body may be; 0 when there is none. */
  body_limit: number;
}

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

/**
 * Stands before the router, on the raw request, and lets nothing through that a web page, another
 * program or a wrong credential could have sent. The order of the checks is part of the promise.
 * @throws GateError
 */
export function admit(request: RawRequest, credentials: Credentials): Admission {
  if (request.port !== null) checkHost(request.headers, request.port);
  checkSize(request);
  const target = parseTarget(request.target);
  if (request.port !== null) {
    checkOrigin(request.headers, request.port);
    checkFetchSite(request, target.path);
  }
  checkMethod(request.method);
  const caller = identify(request, target, credentials);
  if (caller && !isAllowed(caller.scope, request.method, target.path)) {
    throw new GateError(
      "forbidden",
      `Cannot ${request.method} ${target.path} with a credential of scope "${caller.scope}": ` +
        `only a reviewer may; a person can do it in the dashboard or with the gate command`,
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
  throw new GateError("method_not_allowed", "Cannot answer: the gate does not know this method", {
    fields: { allow: METHODS },
  });
}

function identify(
  request: RawRequest,
  target: Target,
  credentials: Credentials,
): Caller | null {
  if (isPublic(request.method, target.path)) return null;
  return credentials.identify(request.headers);
}
