import { Agent, type IncomingMessage, request } from "node:http";
import { Readable } from "node:stream";
import { KeptConnections } from "./kept_connections.ts";

export type Fetch = (input: RequestInfo | URL, init?: RequestInit) => Promise<Response>;

const NO_BODY = new Set([101, 204, 205, 304]);
const JSON_TYPE = /^application\/(?:problem\+)?json\b/;

/**
 * A `fetch` over a unix socket, or over TCP when `socketPath` is null. It uses `node:http`, which
 * exists on all three runtimes, follows no redirects and rewrites no paths. A JSON text that is
 * posted over the socket takes a shorter way.
 */
export function createSocketFetch(socketPath: string | null): Fetch {
  const agent = new Agent({ keepAlive: true });
  const kept = socketPath === null ? null : new KeptConnections(socketPath);
  return async (input, init) => {
    const plain = readPlain(input, init) ?? await readRequest(new Request(input, init));
    if (kept && plain.method === "POST" && typeof plain.body === "string") {
      const { headers, body, signal } = plain;
      const url = input instanceof URL ? input : new URL(plain.url);
      headers.set("host", url.host);
      return await kept.post({ target: url.pathname + url.search, headers, body, signal });
    }
    return await send({ plain, agent, socketPath });
  };
}

interface Plain {
  url: string;
  method: string;
  headers: Headers;
  body: string | Uint8Array | null;
  signal?: AbortSignal | null;
}

interface Sending {
  plain: Plain;
  agent: Agent;
  socketPath: string | null;
}

/** Reads the simple cases without a `Request`: creating one takes longer than all the rest. */
function readPlain(input: RequestInfo | URL, init: RequestInit = {}): Plain | null {
  const { method = "GET", body = null, signal } = init;
  if (input instanceof Request || method !== method.toUpperCase()) return null;
  if (body !== null && typeof body !== "string") return null;
  const headers = new Headers(init.headers);
  if (body !== null && !headers.has("content-type")) return null;
  return { url: String(input), method, headers, body, signal };
}

async function readRequest(request: Request): Promise<Plain> {
  const { url, method, headers, signal } = request;
  const body = request.body ? new Uint8Array(await request.arrayBuffer()) : null;
  return { url, method, headers, body, signal };
}

function send({ plain, agent, socketPath }: Sending): Promise<Response> {
  const { body } = plain;
  const url = new URL(plain.url);
  const headers: Record<string, string> = { ...Object.fromEntries(plain.headers), host: url.host };
  if (body !== null) headers["content-length"] = String(Buffer.byteLength(body));
  return new Promise((resolve, reject) => {
    const sent = request({
      agent,
      headers,
      method: plain.method,
      path: url.pathname + url.search,
      ...(plain.signal ? { signal: plain.signal } : {}),
      ...(socketPath ? { socketPath } : { host: url.hostname, port: url.port }),
    });
    sent.on("response", (message) => toResponse(message).then(resolve, reject));
    sent.on("error", reject);
    sent.end(body ?? undefined);
  });
}

async function toResponse(message: IncomingMessage): Promise<Response> {
  const headers = new Headers();
  for (let i = 0; i < message.rawHeaders.length; i += 2) {
    headers.append(message.rawHeaders[i]!, message.rawHeaders[i + 1]!);
  }
  const { statusCode: status = 500, statusMessage: statusText } = message;
  if (NO_BODY.has(status)) {
    message.resume();
    return new Response(null, { status, headers });
  }
  // A complete JSON answer is read at once: a stream would cost more.
  const isWhole = headers.has("content-length") &&
    JSON_TYPE.test(headers.get("content-type") ?? "");
  const body = isWhole
    ? await readWhole(message)
    : Readable.toWeb(message) as unknown as ReadableStream<Uint8Array>;
  return new Response(body, { status, statusText, headers });
}

function readWhole(message: IncomingMessage): Promise<Uint8Array<ArrayBuffer>> {
  return new Promise((resolve, reject) => {
    const pieces: Uint8Array[] = [];
    message.on("data", (piece: Uint8Array) => pieces.push(piece));
    message.on("end", () => resolve(Buffer.concat(pieces)));
    message.on("error", reject);
    message.on(
      "close",
      () => reject(new Error("The connection was lost before the answer was complete")),
    );
  });
}
