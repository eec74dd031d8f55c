import type { Environment } from "../environment.ts";
import { GateError, traceOf } from "../errors.ts";

const CSP = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const HEADERS = {
  "content-security-policy": CSP,
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
};

/** Adds the security headers of every answer. */
export function secure(answer: Response, target: string): Response {
  for (const [name, value] of Object.entries(HEADERS)) answer.headers.set(name, value);
  if (target.startsWith("/api") || !answer.headers.has("cache-control")) {
    answer.headers.set("cache-control", "no-store");
  }
  return answer;
}

/** The error as a GateError. Logs every other error whole and hides its details from the caller. */
export function toGateError(error: unknown, log: Environment["log"]): GateError {
  if (error instanceof GateError) return error;
  log("error", "a request failed", { error: traceOf(error) });
  return new GateError(
    "internal",
    "Cannot answer: an unexpected error occurred; gate daemon logs shows it",
  );
}

/** An error as its problem document. */
export function problemResponse(error: GateError): Response {
  const headers: Record<string, string> = { "content-type": "application/problem+json" };
  if (error.code === "unauthorized") headers["www-authenticate"] = 'Bearer realm="gate"';
  if (error.code === "rate_limited" || error.code === "unavailable") {
    const { retry_after } = error.fields;
    headers["retry-after"] = typeof retry_after === "number" ? String(retry_after) : "60";
  }
  const allow = error.fields.allow;
  if (error.code === "method_not_allowed" && Array.isArray(allow)) {
    headers["allow"] = allow.join(", ");
  }
  return new Response(JSON.stringify(error.toProblem()), { status: error.status, headers });
}
