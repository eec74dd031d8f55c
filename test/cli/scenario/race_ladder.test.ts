import { createSecureServer as createHttp2 } from "node:http2";
import { createServer as createHttps } from "node:https";
import { connect, createServer, type Server, type Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { CERTIFICATE, KEY } from "./certificate.ts";
import { listen, race, runRace } from "./race_run.ts";
import { execs, runJson, serve } from "./harness.ts";

const certified = { key: KEY, cert: CERTIFICATE };

describe("the ladder shows the strategies tried, and why some failed", () => {
  test("plain HTTP does not negotiate HTTP/2", async () => {
    const { url, requests } = await serve((_request, response) => response.end());
    const { rungs, race } = await runRace(url);
    expect(rungs).toEqual([expect.stringContaining("not h2: nothing negotiates"), "by last-byte"]);
    expect(requests).toHaveLength(10);
    expect(race.dates.map((date: string) => Date.parse(date))).not.toContain(NaN);
  });

  test("TLS without HTTP/2", async () => {
    const server = createHttps(certified, (_request, response) => response.end());
    const { rungs } = await runRace(`https://127.0.0.1:${await listen(server)}`);
    expect(rungs).toEqual(["not h2: TLS did not agree on HTTP/2", "by last-byte"]);
  });

  test("a target that allows too few HTTP/2 streams", async () => {
    const settings = { settings: { maxConcurrentStreams: 5 }, allowHTTP1: true };
    const server = createHttp2(
      { ...certified, ...settings },
      (_request, response) => response.end(),
    );
    const { rungs } = await runRace(
      `https://127.0.0.1:${await listen(server as unknown as Server)}`,
    );
    expect(rungs).toEqual([
      "not h2: the target takes 5 HTTP/2 requests at once, not 10",
      "by last-byte",
    ]);
  });

  test("trying HTTP/2 on a target without it loses and repeats no request", async () => {
    const { url, requests } = await serve((_request, response) => response.end());
    const { rungs } = await runRace(url, "--race-strategy", "h2");
    expect(rungs).toEqual(["not h2: the target does not greet in HTTP/2", "by last-byte"]);
    expect(requests).toHaveLength(10);
  });

  test("bodies larger than the HTTP/2 window", async () => {
    const server = createHttp2({ ...certified, allowHTTP1: true }, (request, response) => {
      request.resume().on("end", () => response.end());
    });
    const port = await listen(server as unknown as Server);
    const large = execs({ ...race, body: "x".repeat(10_000) });
    const { executions } = await runJson(
      large,
      "--target",
      `https://127.0.0.1:${port}`,
      "--insecure",
    );
    expect(executions[0].evidence.race.ladder).toMatchObject([
      { strategy: "h2", taken: false, why: expect.stringContaining("window") },
      { strategy: "last-byte", taken: true },
    ]);
  });

  test.each([["closes", ""], ["answers 408", "HTTP/1.1 408 Slow\r\nContent-Length: 0\r\n\r\n"]])(
    "a target that %s if the last byte is late gets each request once, complete",
    async (_name, last) => {
      let whole = 0;
      const port = await listen(createServer((socket) => {
        let text = "";
        socket.on("data", (chunk) => {
          text += chunk;
          if (!text.endsWith("{}")) return void socket.end(last);
          whole++;
          socket.end("HTTP/1.1 409 Used\r\nContent-Length: 0\r\n\r\n");
        });
      }));
      const { rungs } = await runRace(`http://127.0.0.1:${port}`);
      expect(rungs.slice(1)).toEqual([
        "not last-byte: the target gives up on requests whose last byte is late",
        "by burst",
      ]);
      expect(whole).toBe(10);
    },
  );

  test("a target with few connections gets the other requests when connections become free", async () => {
    let answered = 0;
    const shop = createHttps(certified, (request, response) => {
      request.resume().on("end", () => response.writeHead(answered++ === 0 ? 200 : 409).end());
    });
    const port = await listen(shop);
    const waiting: (() => void)[] = [];
    let inside = 0;
    const next = () => void waiting.shift()?.();
    const door = await listen(createServer((socket) => {
      waiting.push(() => {
        inside++;
        const through = connect({ host: "127.0.0.1", port });
        socket.pipe(through).pipe(socket).once("close", () => through.destroy());
        for (const side of [socket, through]) side.on("error", () => {});
        through.once("close", () => {
          inside--;
          next();
        });
      });
      if (inside < 4) next();
    }));
    const { rungs, execution } = await runRace(`https://127.0.0.1:${door}`, "--timeout", "2s");
    expect(rungs.slice(1)).toEqual([
      "not last-byte: the target took only 4 connections at once",
      "by burst",
    ]);
    expect(execution).toMatchObject({
      status: "passed",
      reason: "Only one of ten succeeded",
    });
  });

  test("a target that reads requests one by one gets complete requests", async () => {
    const waiting: Socket[] = [];
    let answered = 0;
    const serve = () =>
      waiting[0]?.resume().on("data", (chunk) => {
        if (!String(chunk).endsWith("}")) return;
        const status = answered++ === 0 ? 200 : 409;
        waiting.shift()!.end(`HTTP/1.1 ${status} X\r\nContent-Length: 0\r\n\r\n`);
      });
    const port = await listen(createServer({ pauseOnConnect: true }, (socket) => {
      socket.once("close", () => {
        if (waiting.includes(socket)) waiting.splice(waiting.indexOf(socket), 1);
        serve();
      });
      if (waiting.push(socket) === 1) serve();
    }));
    const large = { ...race, body: `{${" ".repeat(12_000_000)}}`, concurrency: 3 };
    const url = `http://127.0.0.1:${port}`;
    const { executions } = await runJson(execs(large), "--target", url, "--timeout", "5s");
    expect(executions[0]).toMatchObject({
      status: "passed",
      reason: "Only one of three succeeded",
    });
    expect(executions[0].evidence.race.ladder[1]).toMatchObject({
      strategy: "last-byte",
      taken: false,
      why: "the target does not read one request before another is whole",
    });
  });

  test("without a server the last strategy reports an error", async () => {
    const { url, server } = await serve((_request, response) => response.end());
    const { raceRequests } = await import("../../../cli/scenario/execute/race/race.ts");
    const { parseTarget } = await import("../../../cli/scenario/execute/target.ts");
    await new Promise((resolve) => server.close(resolve));
    const request = { method: "POST", path: "/", headers: {} };
    const seen = await raceRequests(parseTarget(url), request, 3, {
      timeout_ms: 1_000,
      race_strategy: "auto",
    });
    expect(seen).toMatchObject({
      strategy: "last-byte",
      error: expect.stringContaining("cannot open"),
    });
  });
});

test("every connection uses one address, and TLS keeps the host name", async () => {
  const names: string[] = [];
  const SNICallback = (name: string, done: (error: null) => void) => {
    names.push(name);
    done(null);
  };
  const answered: string[] = [];
  const server = createHttps({ ...certified, SNICallback }, (request, response) => {
    answered.push(request.headers.host!);
    response.end();
  });
  const port = await listen(server);
  const { rungs } = await runRace(`https://localhost:${port}`);
  expect(rungs.at(-1)).toBe("by last-byte");
  expect(new Set(names)).toEqual(new Set(["localhost"]));
  expect(answered).toEqual(Array(10).fill(`localhost:${port}`));
});

describe("strategies that --race-strategy selects", () => {
  /** A server that yields one tick between check and set, and counts connections. */
  async function leaky() {
    let used = false;
    const { url, server, requests } = await serve((_request, response) => {
      response.statusCode = used ? 409 : 200;
      setImmediate(() => {
        used = true;
        response.end("x".repeat(used ? 5_000 : 1));
      });
    });
    let connections = 0;
    server.on("connection", () => connections++);
    return { url, requests, connections: () => connections };
  }

  test("pipeline sends ten requests over one connection", async () => {
    const { url, requests, connections } = await leaky();
    const { race: seen, execution } = await runRace(url, "--race-strategy", "pipeline");
    expect(seen.strategy).toBe("pipeline");
    expect(seen.shots).toHaveLength(10);
    expect(execution).toMatchObject({
      status: "failed",
      reason: expect.stringContaining("only one should"),
    });
    expect([requests.length, connections() - 1]).toEqual([10, 1]); // another connection checked the target
    expect(seen.blind_spots.join()).toContain("pipelined");
  });

  test("burst sends complete requests over separate connections", async () => {
    const { url, requests } = await leaky();
    const { race: seen } = await runRace(url, "--race-strategy", "burst");
    expect([seen.strategy, seen.shots.length, requests.length]).toEqual(["burst", 10, 10]);
  });
});
