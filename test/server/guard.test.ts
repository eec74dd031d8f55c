import { mkdtemp, rm, stat } from "node:fs/promises";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Credentials } from "../../server/auth/credentials.ts";
import { PageKeys } from "../../server/auth/login.ts";
import { openTokens, type Tokens } from "../../server/auth/tokens.ts";
import { createGuard } from "../../server/guard.ts";
import { problemResponse, secure } from "../../server/guard/response.ts";
import { type Listening, PortTakenError, serve } from "../../server/runtime/serve.ts";
import { requestText, sendRaw } from "../raw_http.ts";

let home: string;
let tokens: Tokens;
let keys: PageKeys;
let listening: Listening;
const heard: { url: string; json: unknown }[] = [];

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "gate-"));
  tokens = await openTokens(home);
  const environment = {
    home,
    now: Date.now,
    id: () => crypto.randomUUID(),
    log: () => {},
  };
  keys = new PageKeys(environment);
  const credentials = new Credentials(tokens, keys);
  const router = {
    async fetch(request: Request, { json }: { json: unknown }) {
      heard.push({ url: request.url, json });
      if (request.url.endsWith("/api/events")) return streamOf(10, 100);
      if (request.url.endsWith("/wait")) await new Promise((done) => setTimeout(done, 1_000));
      return Response.json({ ok: true });
    },
  };
  listening = await serve({
    port: 0,
    socket_path: join(home, "run", "gate.sock"),
    handler: createGuard(router, credentials, { keys, log: () => {} }),
    refuse: (error) => secure(problemResponse(error), "/api"),
    timeouts: { headers_ms: 300, request_ms: 600, check_ms: 50 },
    all_bodies_bytes: 4_000_000,
  });
});

afterAll(async () => {
  await listening.close(0);
  await rm(home, { recursive: true });
});

const JSON_BODY: [string, string] = ["Content-Type", "application/json"];

function headers(...more: [string, string][]): [string, string][] {
  return [["Host", `127.0.0.1:${listening.port}`], bearer(), ...more];
}

function bearer(): [string, string] {
  return ["Authorization", `Bearer ${tokens.reviewer}`];
}

async function ask(method: string, target: string, lines: [string, string][], body?: string) {
  const answer = await sendRaw(listening.port, requestText(method, target, lines, body));
  return answer;
}

test("a good request reaches the router with its body read", async () => {
  const answer = await ask("POST", "/api/policy/test?x=%2f", headers(JSON_BODY), '{"path":"ü"}');
  expect(answer.status).toBe(200);
  expect(heard.at(-1)).toEqual({
    url: "http://localhost/api/policy/test?x=%2f",
    json: { path: "ü" },
  });
  expect(answer.headers).toMatchObject({
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "content-length": "11",
  });
  expect(answer.headers["content-security-policy"]).toContain("require-trusted-types-for");
});

test.each<[string, number, () => Promise<{ status: number }>]>([
  ["another Host", 421, () => ask("GET", "/healthz", [["Host", "evil.example"]])],
  ["no Host", 421, () => ask("GET", "/api/actions", [bearer()])],
  ["two Hosts", 421, () => ask("GET", "/api/actions", headers(["Host", "localhost"]))],
  ["a foreign Origin", 403, () => ask("GET", "/api/actions", headers(["Origin", "http://x.y"]))],
  [
    "two Origins",
    403,
    () => ask("GET", "/api/actions", headers(...[1, 2].map(() => own("Origin")))),
  ],
  ["same-site", 403, () => ask("GET", "/api/actions", headers(["Sec-Fetch-Site", "same-site"]))],
  ["TRACE", 405, () => ask("TRACE", "/api/actions", headers())],
  ["OPTIONS", 405, () => ask("OPTIONS", "/api/actions", headers())],
  ["no credential", 401, () => ask("GET", "/api/actions", headers().slice(0, 1))],
  ["two credentials", 401, () => ask("GET", "/api/actions", headers(bearer()))],
  ["a form", 415, () => ask("POST", "/api/sessions", headers(["Content-Type", "text/plain"]), "x")],
  ["a body without type", 415, () => ask("POST", "/api/sessions", headers(), "{}")],
  ["a body on GET", 400, () => ask("GET", "/api/actions", headers(JSON_BODY), "{}")],
  ["a dot segment", 400, () => ask("GET", "/api/../actions", headers())],
  ["an escaped letter", 400, () => ask("GET", "/%61pi/actions", headers())],
  ["an absolute target", 400, () => ask("GET", "http://127.0.0.1/api/actions", headers())],
  ["a long target", 431, () => ask("GET", `/api/actions?x=${"a".repeat(8200)}`, headers())],
  ["a longer target", 431, () => ask("GET", `/api/actions?x=${"a".repeat(99_000)}`, headers())],
  ["101 headers", 431, () => ask("GET", "/api/actions", headers(...Array(98).fill(["X-A", "1"])))],
  [
    "an upgrade",
    400,
    () => ask("GET", "/", headers(["Upgrade", "websocket"], ["Connection", "Upgrade"])),
  ],
  ["CONNECT", 405, () => ask("CONNECT", "evil.example:443", headers())],
  ["an agent that decides", 403, () =>
    ask("POST", "/api/actions/x/approve", [
      ["Host", `localhost:${listening.port}`],
      ["Authorization", `Bearer ${tokens.agent}`],
    ])],
  [
    "two bodies",
    400,
    () => ask("POST", "/api/sessions", headers(JSON_BODY, ["Content-Length", "1"]), "{}"),
  ],
  [
    "headers that never end",
    408,
    () => sendRaw(listening.port, `GET / HTTP/1.1\r\nHost: 127.0.0.1:${listening.port}\r\n`),
  ],
  ["a body that never ends", 408, () =>
    sendRaw(
      listening.port,
      requestText("POST", "/api/sessions", headers(JSON_BODY, ["Content-Length", "9"])) + "{",
    )],
])("refuses %s with %i", async (_name, status, send) => {
  const before = heard.length;
  expect((await send()).status).toBe(status);
  expect(heard.length).toBe(before);
});

function own(name: string): [string, string] {
  return [name, `http://127.0.0.1:${listening.port}`];
}

test.each([
  ["too long", "/api/sessions", 1_048_577, 413],
  ["short enough", "/api/sessions", 1_048_576, 200],
  ["content of an action", "/api/actions", 1_048_577, 200],
])("a body that is %s", async (_name, target, length, status) => {
  const body = `{"a":"${"a".repeat(length - 8)}"}`;
  expect((await ask("POST", target, headers(JSON_BODY), body)).status).toBe(status);
  const chunked =
    requestText("POST", target, headers(JSON_BODY, ["Transfer-Encoding", "chunked"])) +
    `${length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  expect((await sendRaw(listening.port, chunked)).status).toBe(status);
});

test("a client that keeps sending after 413 is cut off, having been told", async () => {
  const length = 20_000_000;
  const head = requestText(
    "POST",
    "/api/sessions",
    headers(JSON_BODY, ["Transfer-Encoding", "chunked"]),
  );
  const answer = await sendRaw(
    listening.port,
    `${head}${length.toString(16)}\r\n${"a".repeat(length)}`,
  );
  // A busy machine may need longer than the time limit for so much, which is told as well.
  expect([413, 408, 0]).toContain(answer.status);
});

test.each(["/api/actions/x/wait", "/api/events"])(
  "the answer of %s may take longer than the request was allowed to",
  async (target) => {
    const method = target.endsWith("wait") ? "POST" : "GET";
    const answer = await ask(method, target, headers());
    expect([answer.status, answer.ms > 900]).toEqual([200, true]);
    if (target === "/api/events") expect(answer.body.match(/tick/g)).toHaveLength(10);
  },
);

function streamOf(ticks: number, every_ms: number): Response {
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await new Promise((done) => setTimeout(done, every_ms));
      controller.enqueue(new TextEncoder().encode("data: tick\n\n"));
      if (--ticks === 0) controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

test("large bodies are bounded in sum, small ones still get in", async () => {
  const target = "/api/actions";
  const whole = `"${"x".repeat(1_499_998)}"`;
  const head = requestText("POST", target, headers(JSON_BODY, ["Content-Length", "1500000"]));
  const held = [1, 2].map(() => sendRaw(listening.port, [head, whole.slice(1)]));
  const third = () => ask("POST", target, headers(JSON_BODY), whole);
  let refused = await third();
  await expect.poll(async () => (refused = await third()).status, { timeout: 5_000 }).toBe(503);
  expect(refused.body).toContain("the daemon is already receiving 4 MiB of bodies; send the");
  expect((await ask("POST", target, headers(JSON_BODY), "{}")).status).toBe(200);
  expect((await Promise.all(held)).map((answer) => answer.status)).toEqual([408, 408]);
  expect((await third()).status).toBe(200);
});

test("over the unix socket the Host does not matter, the credential does", async () => {
  const socket_path = listening.socket_path!;
  const good = requestText("GET", "/api/actions", [["Host", "x"], bearer()]);
  const bad = requestText("GET", "/api/actions", [["Host", "x"]]);
  expect((await sendRaw(0, good, { socket_path })).status).toBe(200);
  expect((await sendRaw(0, bad, { socket_path })).status).toBe(401);
  expect((await stat(socket_path)).mode & 0o777).toBe(0o600);
  expect((await stat(join(home, "run"))).mode & 0o777).toBe(0o700);
});

test("a navigation from elsewhere opens the page and nothing else", async () => {
  const from: [string, string][] = [
    ["Host", `localhost:${listening.port}`],
    ["Sec-Fetch-Site", "cross-site"],
    ["Sec-Fetch-Mode", "navigate"],
    ["Sec-Fetch-Dest", "document"],
  ];
  expect((await ask("GET", "/approvals/abc", from)).status).toBe(200);
  expect((await ask("GET", "/login?code=x", from)).status).toBe(403);
  expect((await ask("GET", "/api/actions", [...from, bearer()])).status).toBe(403);
});

test("nobody else can be localhost on our port, over IPv6 either", async () => {
  const hosts = ["127.0.0.1", "::1"].filter((host) => host !== "::1" || hasIpv6());
  for (const host of hosts) {
    const text = requestText("GET", "/healthz", [["Host", `localhost:${listening.port}`]]);
    expect((await sendRaw(listening.port, text, { host })).status, host).toBe(200);
  }
});

test.each(["127.0.0.1", "::1"])(
  "the port that another program has on %s is named",
  async (host) => {
    if (host === "::1" && !hasIpv6()) return;
    const stranger = createServer().listen(0, host);
    await once(stranger, "listening");
    const { port } = stranger.address() as AddressInfo;
    const taken = serve({
      port,
      socket_path: null,
      handler: () => Promise.resolve(new Response()),
      refuse: () => new Response(),
    });
    await expect(taken).rejects.toThrow(PortTakenError);
    await expect(taken).rejects.toMatchObject({ port });
    stranger.close();
  },
);

function hasIpv6(): boolean {
  return Object.values(networkInterfaces()).some((all) =>
    all?.some(({ address }) => address === "::1")
  );
}

test("the socket of a dead daemon is taken over, that of a live one is not", async () => {
  const options = {
    port: 0,
    socket_path: listening.socket_path,
    handler: () => Promise.resolve(new Response()),
    refuse: () => new Response(),
  };
  await expect(serve(options)).rejects.toThrow(/another daemon/);
});
