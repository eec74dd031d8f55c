import { GateError } from "../../server/errors.ts";
import { bodyLimit, hasBody } from "../../server/guard/body.ts";
import { checkFetchSite, checkHost, checkOrigin } from "../../server/guard/origin.ts";
import { problemResponse, secure } from "../../server/guard/response.ts";
import { parseTarget } from "../../server/guard/target.ts";
import { type Listening, type RawRequest, serve } from "../../server/runtime/serve.ts";
import type { Reached } from "../daemon/find.ts";

export interface ForwardOptions {
  port: number;
  project: string;
  reached: Reached;
}

/** Serves a project's port and forwards every request to the daemon. @throws PortTakenError */
export function serveForwarding(options: ForwardOptions): Promise<Listening> {
  return serve({
    port: options.port,
    socket_path: null,
    refuse: (error) => secure(problemResponse(error), "/api"),
    handler: async (request) => {
      try {
        return await forward(request, options);
      } catch (error) {
        return secure(problemResponse(toGateError(error)), request.target);
      }
    },
  });
}

/**
 * Checks host and origin here, because the daemon does not see this port; the daemon checks the
 * credential, the scope and everything else.
 */
async function forward(raw: RawRequest, options: ForwardOptions): Promise<Response> {
  checkHost(raw.headers, options.port);
  const target = parseTarget(raw.target);
  checkOrigin(raw.headers, options.port);
  checkFetchSite(raw, target.path);
  const body = hasBody(raw) ? await raw.readBody(bodyLimit(raw, target.path)) : undefined;
  const answer = await options.reached.fetch(address(target, options), {
    method: raw.method,
    headers: passed(raw.headers),
    body: body && body.length > 0 ? body : undefined,
    signal: raw.signal,
  });
  return new Response(answer.body, { status: answer.status, headers: passed([...answer.headers]) });
}

function address(target: ReturnType<typeof parseTarget>, options: ForwardOptions): string {
  const url = `${options.reached.url}${target.path}${target.query}`;
  const isOfProject = /^\/api\/(?:actions|audit|config|policy|sessions)(?:\/|$)/.test(target.path);
  if (!isOfProject || new URLSearchParams(target.query).has("project")) return url;
  return `${url}${target.query ? "&" : "?"}project=${encodeURIComponent(options.project)}`;
}

const HOP_BY_HOP = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "origin",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

function passed(headers: [string, string][]): [string, string][] {
  return headers.filter(([name]) =>
    !HOP_BY_HOP.has(name) && !name.startsWith("sec-fetch-") && !name.startsWith("proxy-")
  );
}

function toGateError(error: unknown): GateError {
  if (error instanceof GateError) return error;
  return new GateError(
    "unavailable",
    "Cannot reach the daemon: it has ended; run gate daemon start",
    {
      cause: error,
    },
  );
}
