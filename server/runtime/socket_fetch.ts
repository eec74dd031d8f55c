import { Agent, type IncomingMessage, request } from "node:http";
import { Readable } from "node:stream";

export type Fetch = (input: RequestInfo | URL, init?: RequestInit) => Promise<Response>;

const NO_BODY = new Set([101, 204, 205, 304]);
const JSON_TYPE = /^application\/(?:problem\+)?json\b/;

/**
 * A `fetch` over a unix socket, or over TCP to the address itself when `socketPath` is null.
 * `node:http` serves both on Deno, Node and Bun; it neither follows redirects nor rewrites paths.
 */
export function createSocketFetch(socketPath: string | null): Fetch {
  const agent = new Agent({ keepAlive: true });
  return async (input, init) => {
    const asked = readPlain(input, init) ?? await readRequest(new Request(input, init));
    return await send({ asked, agent, socketPath });
  };
}

interface Asked {
  url: string;
  method: string;
  headers: Headers;
  body: string | Uint8Array | null;
  signal?: AbortSignal | null;
}

interface Sending {
  asked: Asked;
  agent: Agent;
  socketPath: string | null;
}

/** What needs no `Request` to be understood, which takes longer to make than the rest together. */
function readPlain(input: RequestInfo | URL, init: RequestInit = {}): Asked | null {
  const { method = "GET", body = null, signal } = init;
  if (input instanceof Request || method !== method.toUpperCase()) return null;
  if (body !== null && typeof body !== "string") return null;
  const headers = new Headers(init.headers);
  if (body !== null && !headers.has("content-type")) return null;
  return { url: String(input), method, headers, body, signal };
}

async function readRequest(request: Request): Promise<Asked> {
  const { url, method, headers, signal } = request;
  const body = request.body ? new Uint8Array(await request.arrayBuffer()) : null;
  return { url, method, headers, body, signal };
}

function send({ asked, agent, socketPath }: Sending): Promise<Response> {
  const { body } = asked;
  const url = new URL(asked.url);
  const headers: Record<string, string> = { ...Object.fromEntries(asked.headers), host: url.host };
  if (body !== null) headers["content-length"] = String(Buffer.byteLength(body));
  return new Promise((resolve, reject) => {
    const sent = request({
      agent,
      headers,
      method: asked.method,
      path: url.pathname + url.search,
      ...(asked.signal ? { signal: asked.signal } : {}),
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
  // What was sent as a whole needs no stream, which costs more than reading it.
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
    message.on("close", () => reject(new Error("The connection was lost before the whole answer")));
  });
}
