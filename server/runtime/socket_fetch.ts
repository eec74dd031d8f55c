import { Agent, type IncomingMessage, request } from "node:http";
import { Readable } from "node:stream";

export type Fetch = (input: RequestInfo | URL, init?: RequestInit) => Promise<Response>;

const NO_BODY = new Set([101, 204, 205, 304]);

/**
 * A `fetch` over a unix socket, or over TCP to the address itself when `socketPath` is null.
 * `node:http` serves both on Deno, Node and Bun; it neither follows redirects nor rewrites paths.
 */
export function createSocketFetch(socketPath: string | null): Fetch {
  const agent = new Agent({ keepAlive: true });
  return async (input, init) => {
    const asked = new Request(input, init);
    const body = asked.body ? new Uint8Array(await asked.arrayBuffer()) : null;
    return await send({ asked, body, agent, socketPath });
  };
}

interface Sending {
  asked: Request;
  body: Uint8Array | null;
  agent: Agent;
  socketPath: string | null;
}

function send({ asked, body, agent, socketPath }: Sending): Promise<Response> {
  const url = new URL(asked.url);
  const headers: Record<string, string> = { ...Object.fromEntries(asked.headers), host: url.host };
  if (body) headers["content-length"] = String(body.byteLength);
  return new Promise((resolve, reject) => {
    const sent = request({
      agent,
      headers,
      method: asked.method,
      path: url.pathname + url.search,
      signal: asked.signal,
      ...(socketPath ? { socketPath } : { host: url.hostname, port: url.port }),
    });
    sent.on("response", (message) => resolve(toResponse(message)));
    sent.on("error", reject);
    sent.end(body ?? undefined);
  });
}

function toResponse(message: IncomingMessage): Response {
  const headers = new Headers();
  for (let i = 0; i < message.rawHeaders.length; i += 2) {
    headers.append(message.rawHeaders[i]!, message.rawHeaders[i + 1]!);
  }
  const status = message.statusCode ?? 500;
  if (NO_BODY.has(status)) {
    message.resume();
    return new Response(null, { status, headers });
  }
  const body = Readable.toWeb(message) as unknown as ReadableStream<Uint8Array>;
  return new Response(body, { status, statusText: message.statusMessage, headers });
}
