import { REQUEST_LIMITS } from "../constants.ts";
import { GateError } from "../errors.ts";
import { tooLarge } from "../runtime/http_message.ts";
import type { RawRequest } from "../runtime/serve.ts";
import { valuesOf } from "./origin.ts";

// These routes accept whole files or outputs.
const CONTENT_ROUTES = [
  /^\/api\/actions$/,
  /^\/api\/actions\/[^/]+\/(?:approve-with-edit|result)$/,
  /^\/api\/hooks\/[^/]+$/,
  /^\/mcp$/,
];
const JSON_TYPE = /^application\/json(?:[ \t]*;[ \t]*charset="?utf-8"?)?[ \t]*$/i;

/** Whether the headers announce a body. @throws GateError `invalid` for a body on GET or HEAD */
export function hasBody(request: RawRequest): boolean {
  const length = valuesOf(request.headers, "content-length");
  const coded = valuesOf(request.headers, "transfer-encoding").length > 0;
  const body = coded || length.some((value) => Number(value) !== 0);
  if (body && (request.method === "GET" || request.method === "HEAD")) {
    throw new GateError(
      "invalid",
      `Cannot read the request: a ${request.method} has no body; leave it out`,
    );
  }
  return body || valuesOf(request.headers, "content-type").length > 0;
}

/** Accepts only uncompressed JSON in UTF-8, a type that no HTML form can send. @throws GateError */
export function checkContentType(request: RawRequest): void {
  const types = valuesOf(request.headers, "content-type");
  if (types.length !== 1 || !JSON_TYPE.test(types[0]!)) {
    throw new GateError(
      "unsupported_media_type",
      'Cannot read the body: it is not announced as JSON; send "Content-Type: application/json"',
    );
  }
  if (valuesOf(request.headers, "content-encoding").length > 0) {
    throw new GateError(
      "unsupported_media_type",
      "Cannot read the body: it is compressed; send it as it is",
    );
  }
}

/** The most bytes that this route accepts. @throws GateError `too_large` for a longer announced body */
export function bodyLimit(request: RawRequest, path: string): number {
  const carriesContent = CONTENT_ROUTES.some((route) => route.test(path));
  const limit = carriesContent ? REQUEST_LIMITS.content_body_bytes : REQUEST_LIMITS.body_bytes;
  const announced = Number(valuesOf(request.headers, "content-length")[0] ?? 0);
  if (announced > limit) throw tooLarge(limit);
  return limit;
}
