import { type AddressInfo, createServer } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { execs, runJson, serve } from "./harness.ts";

const WINDOW_MS = 5;

/** Two routes: the open one waits between check and set, the guarded one does not. */
async function twins() {
  const used = new Set<string>();
  return await serve((request, response) => {
    const url = request.url ?? "";
    const set = () => {
      used.add(url);
      response.end("credited");
    };
    if (used.has(url)) {
      response.statusCode = 409;
      return response.end("used");
    }
    if (url.startsWith("/guarded/")) return set();
    setTimeout(set, WINDOW_MS);
  });
}

const race = (path: string) => ({
  mode: "http",
  method: "POST",
  path,
  body: "{}",
  concurrency: 10,
});

test("the vulnerable route fails and the guarded route passes in all of 20 rounds", async () => {
  const { url } = await twins();
  const rounds = Array.from({ length: 20 }, (_, n) => [race(`/open/${n}`), race(`/guarded/${n}`)]);
  const { executions } = await runJson(execs(...rounds.flat()), "--target", url);
  const statuses = executions.map(({ status }: { status: string }) => status);
  expect(statuses.filter((_: string, n: number) => n % 2 === 0)).toEqual(Array(20).fill("failed"));
  expect(statuses.filter((_: string, n: number) => n % 2 === 1)).toEqual(Array(20).fill("passed"));
});

test("all requests are identical and in flight before the first response", async () => {
  let inFlight = 0;
  let most = 0;
  const { url, requests } = await serve((_request, response) => {
    most = Math.max(most, ++inFlight);
    setTimeout(() => {
      inFlight--;
      response.end();
    }, 100);
  });
  const { executions } = await runJson(execs(race("/")), "--target", url);
  expect(most).toBe(10);
  expect(new Set(requests.map((request) => JSON.stringify(request))).size).toBe(1);
  expect(executions[0].evidence.race).toMatchObject({ strategy: "last-byte", overlap: true });
});

test("a connection that ends after an early refusal of the others is no failure", async () => {
  let connections = 0;
  const server = createServer((socket) => {
    const isReset = ++connections % 2 === 0;
    socket.on("error", () => {});
    socket.once("data", () => {
      if (isReset) return socket.resetAndDestroy();
      socket.write("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { executions } = await runJson(execs(race("/")), "--target", url);
  expect(executions).toMatchObject([{
    status: "passed",
    reason: expect.stringMatching(/^vacuous: all ten were refused \(401\)/),
  }]);
});

test.each([
  ["nothing is served there", 404, "passed", "vacuous: all ten were refused (404)"],
  ["one may have won", 409, "failed", "got no good answer"],
])(
  "a connection that is reset beside complete answers: %s",
  async (_name, status, verdict, why) => {
    let connections = 0;
    const server = createServer((socket) => {
      const isReset = ++connections === 3;
      let text = "";
      socket.on("error", () => {});
      socket.on("data", (chunk) => {
        text += chunk;
        if (!text.endsWith("{}")) return;
        if (isReset) return void socket.resetAndDestroy();
        socket.end(`HTTP/1.1 ${status} X\r\nContent-Length: 0\r\n\r\n`);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { executions } = await runJson(execs(race("/")), "--target", url);
    expect(executions).toMatchObject([{ status: verdict, reason: expect.stringContaining(why) }]);
  },
);

describe("the verdict of a race", () => {
  test.each([
    [
      "a server that fails once",
      (n: number) => n === 3 ? 500 : n === 0 ? 200 : 409,
      "failed",
      "fail with 500",
    ],
    ["no winner", () => 409, "passed", "vacuous: all ten were refused (409)"],
    [
      "no authorised one",
      () => 401,
      "passed",
      "vacuous: all ten were refused (401); none was auth",
    ],
    ["all rate limited", () => 429, "passed", "rate limited"],
    ["all redirected", () => 302, "passed", "redirected"],
    [
      "one winner and redirected losers",
      (n: number) => n === 0 ? 201 : 303,
      "passed",
      "Only one of ten",
    ],
    [
      "two winners",
      (n: number) => n < 2 ? 204 : 409,
      "failed",
      "2 of ten succeeded; only one should",
    ],
  ])("%s", async (_name, statusOf, status, reason) => {
    let n = 0;
    const { url } = await serve((_request, response) => {
      response.statusCode = statusOf(n++);
      response.end();
    });
    const { executions } = await runJson(execs(race("/")), "--target", url);
    expect(executions).toMatchObject([{ status, reason: expect.stringContaining(reason) }]);
  });

  test.each([
    ["all as expected", () => 409, "passed", "All ten were answered 409 as expected"],
    [
      "one otherwise",
      (n: number) => n === 3 ? 404 : 409,
      "passed",
      "vacuous: all ten were refused (409, 404)",
    ],
    ["two winners all the same", (n: number) => n < 2 ? 200 : 409, "failed", "2 of ten succeeded"],
  ])("expected_status 409: %s", async (_name, statusOf, status, reason) => {
    let n = 0;
    const { url } = await serve((_request, response) => {
      response.statusCode = statusOf(n++);
      response.end();
    });
    const spent = { ...race("/"), expected_status: 409 };
    const { executions } = await runJson(execs(spent), "--target", url);
    expect(executions).toMatchObject([{ status, reason: expect.stringContaining(reason) }]);
  });

  test("a closed connection is a failure", async () => {
    let n = 0;
    const { url } = await serve((request, response) =>
      n++ === 0 ? request.socket.destroy() : response.end()
    );
    const { executions } = await runJson(execs({ ...race("/"), concurrency: 2 }), "--target", url);
    expect(executions).toMatchObject([{
      status: "failed",
      reason: expect.stringContaining("no good answer"),
    }]);
  });
});

test("no other request is in flight during a race", async () => {
  const order: string[] = [];
  const { url } = await serve((request, response) => {
    order.push(`${request.method} ${request.url}`);
    setTimeout(() => response.end(), 5);
  });
  const reads = Array.from(
    { length: 8 },
    (_, n) => ({ mode: "http", method: "GET", path: `/${n}` }),
  );
  await runJson(execs(race("/race"), ...reads), "--target", url);
  const first = order.indexOf("POST /race");
  expect(order.slice(first, first + 10)).toEqual(Array(10).fill("POST /race"));
});
