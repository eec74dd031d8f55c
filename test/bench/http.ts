import { Agent, request } from "node:http";
import { performance } from "node:perf_hooks";

/** The port of a daemon, and a token for it. */
export interface Asked {
  port: number;
  token: string;
}

const agent = new Agent({ keepAlive: true, maxSockets: 4 });

/** The time to the end and to the first byte of a response, and its size. */
export interface Answered {
  ms: number;
  first_ms: number;
  bytes: number;
  lines: number;
}

/** Sends one request and reads the whole response. */
export function ask({ port, token }: Asked, path: string, body?: unknown): Promise<Answered> {
  const started = performance.now();
  const answered: Answered = { ms: 0, first_ms: 0, bytes: 0, lines: 0 };
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${token}`,
      ...body === undefined ? {} : { "content-type": "application/json" },
    };
    const method = body === undefined ? "GET" : "POST";
    const asked = request({ host: "127.0.0.1", port, path, agent, headers, method }, (answer) => {
      if (answer.statusCode! >= 300) reject(new Error(`${path} answers ${answer.statusCode}`));
      answer.on("data", (chunk: Uint8Array) => {
        answered.first_ms ||= performance.now() - started;
        answered.bytes += chunk.length;
        for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) answered.lines++;
      });
      answer.on("end", () => resolve({ ...answered, ms: performance.now() - started }));
    });
    asked.on("error", reject);
    asked.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
