import { PageKeys } from "../../server/auth/login.ts";
import { Prover } from "../../server/auth/prover.ts";
import { DaemonChallenge } from "../../server/auth/schema.ts";
import { GateError } from "../../server/errors.ts";
import { bodyLimit, hasBody } from "../../server/guard/body.ts";
import { parseJson } from "../../server/guard/json.ts";
import { checkFetchSite, checkHost, checkOrigin, valuesOf } from "../../server/guard/origin.ts";
import { problemResponse, secure } from "../../server/guard/response.ts";
import { signAnswer } from "../../server/guard/signed_answer.ts";
import { parseTarget } from "../../server/guard/target.ts";
import { parse } from "../../server/parse.ts";
import { type Listening, type RawRequest, serve } from "../../server/runtime/serve.ts";
import type { Reached } from "../daemon/find.ts";

export interface ForwardOptions {
  port: number;
  project: string;
  reached: Reached;
}

/**
 * The keys of the pages of this port, each with the daemon's key behind it. They end with this
 * process: the daemon lives longer, and another program may take the port.
 */
interface Forwarding extends ForwardOptions {
  keys: PageKeys<string>;
  prover: Prover;
}

/** Serves a project's port and forwards every request to the daemon. @throws PortTakenError */
export async function serveForwarding(options: ForwardOptions): Promise<Listening> {
  const keys = new PageKeys<string>({ now: Date.now });
  const forwarding: Forwarding = { ...options, keys, prover: new Prover(keys) };
  const listening = await serve({
    port: options.port,
    socket_path: null,
    refuse: (error) => secure(problemResponse(error), "/api"),
    handler: async (request) => {
      const answer = await forward(request, forwarding)
        .catch((error) => secure(problemResponse(toGateError(error)), request.target));
      return signAnswer(answer, request, keys);
    },
  });
  return {
    ...listening,
    close(grace_ms) {
      const closed = listening.close(grace_ms);
      keys.end();
      return closed;
    },
  };
}

/**
 * Checks host and origin here, because the daemon does not see this port; the daemon checks the
 * credential, the scope and everything else.
 */
async function forward(raw: RawRequest, options: Forwarding): Promise<Response> {
  checkHost(raw.headers, options.port);
  const target = parseTarget(raw.target);
  checkOrigin(raw.headers, options.port);
  checkFetchSite(raw, target.path);
  const body = hasBody(raw) ? await raw.readBody(bodyLimit(raw, target.path)) : undefined;
  if (target.path === "/api/auth/prove-daemon") return await prove(raw, body, options);
  const answer = await options.reached.fetch(address(target, options), {
    method: raw.method,
    headers: withDaemonKey(passed(raw.headers), options),
    body: body && body.length > 0 ? body : undefined,
    signal: raw.signal,
  });
  const headers = withOwnKey(passed([...answer.headers]), options);
  return new Response(answer.body, { status: answer.status, headers });
}

async function prove(
  raw: RawRequest,
  body: Uint8Array<ArrayBuffer> | undefined,
  { prover }: Forwarding,
): Promise<Response> {
  const challenge = parse(DaemonChallenge, body ? parseJson(body) : {});
  const proof = await prover.prove(challenge, `http://${valuesOf(raw.headers, "host")[0]}`);
  if (!proof) throw new GateError("not_found", "Cannot prove that this is your gate: unknown key");
  return secure(Response.json(proof), "/api");
}

/** Replaces a key of this port by the daemon's key behind it. The daemon rejects any other key. */
function withDaemonKey(headers: [string, string][], { keys }: Forwarding): [string, string][] {
  return headers.map(([name, value]) =>
    name === "x-gate-key" ? [name, keys.holderOf(value) ?? "unknown"] : [name, value]
  );
}

const KEY = /#key=([\w-]{43})(?=&|$)/;

/** Replaces the daemon's key in the answer to a login by a key of this port. */
function withOwnKey(headers: [string, string][], { keys }: Forwarding): [string, string][] {
  return headers.map(([name, value]) =>
    name === "location"
      ? [name, value.replace(KEY, (_, key: string) => `#key=${keys.create(key)}`)]
      : [name, value]
  );
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
    "Cannot reach the daemon: it has ended",
    { cause: error, next: "gate daemon start" },
  );
}
