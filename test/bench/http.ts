import { Agent, request } from "node:http";
import { performance } from "node:perf_hooks";

/** The port of a daemon, and a token for it. */
export interface Endpoint {
  port: number;
  token: string;
}

const agent = new Agent({ keepAlive: true, maxSockets: 4 });

/** The time to the end and to the first byte of a response, and its size. */
export interface Timed {
  ms: number;
  first_ms: number;
  bytes: number;
  lines: number;
}

/** Sends one request and reads the whole response. */
export function ask({ port, token }: Endpoint, path: string, body?: unknown): Promise<Timed> {
  const started = performance.now();
  const timed: Timed = { ms: 0, first_ms: 0, bytes: 0, lines: 0 };
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${token}`,
      ...body === undefined ? {} : { "content-type": "application/json" },
    };
    const method = body === undefined ? "GET" : "POST";
    const call = request({ host: "127.0.0.1", port, path, agent, headers, method }, (answer) => {
      if (answer.statusCode! >= 300) reject(new Error(`${path} answers ${answer.statusCode}`));
      answer.on("data", (chunk: Uint8Array) => {
        timed.first_ms ||= performance.now() - started;
        timed.bytes += chunk.length;
        for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) timed.lines++;
      });
      answer.on("end", () => resolve({ ...timed, ms: performance.now() - started }));
    });
    call.on("error", reject);
    call.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
