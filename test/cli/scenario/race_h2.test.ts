import { createSecureServer, createServer, type Http2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { execs, runJson } from "./harness.ts";
import { CERTIFICATE, KEY } from "./certificate.ts";

/** Two HTTP/2 routes: the open one yields a tick between check and set, the guarded one does not. */
async function twins(server: Http2Server, scheme: string): Promise<string> {
  const used = new Set<string>();
  server.on("stream", (stream, headers) => {
    const path = String(headers[":path"]);
    stream.resume();
    stream.on("error", () => {});
    stream.on("end", () => {
      const answer = (status: number) => {
        stream.respond({ ":status": status });
        stream.end("x".repeat(100_000));
      };
      if (used.has(path)) return answer(409);
      const set = () => {
        used.add(path);
        answer(201);
      };
      path.startsWith("/guarded/") ? set() : setImmediate(set);
    });
  });
  const sessions = new Set<{ destroy: () => void }>();
  server.on("session", (session) => sessions.add(session));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  return `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test.each([
  ["https", () => createSecureServer({ key: KEY, cert: CERTIFICATE }), ["--insecure"]],
  ["http", () => createServer(), ["--race-strategy", "h2"]],
])(
  "over %s the route with a window of one tick always fails, and the guarded one passes",
  async (scheme, create, argv) => {
    const url = await twins(create(), scheme);
    const race = (path: string, body?: string) => ({
      mode: "http",
      method: "POST",
      path,
      body,
      concurrency: 10,
    });
    const rounds = Array.from(
      { length: 10 },
      (_, n) => [race(`/open/${n}`, "{}"), race(`/guarded/${n}`)],
    );
    const { executions } = await runJson(execs(...rounds.flat()), "--target", url, ...argv);
    const seen = executions.map((
      one: { status: string; evidence: { race: { strategy: string } } },
    ) => `${one.evidence.race.strategy} ${one.status}`);
    expect(seen).toEqual(Array(10).fill(["h2 failed", "h2 passed"]).flat());
  },
  60_000,
);
