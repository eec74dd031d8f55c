import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { execs, runJson, serve } from "./harness.ts";

const get = (path: string, more: object = {}) => ({ mode: "http", method: "GET", path, ...more });
const post = (path: string) => ({ mode: "http", method: "POST", path });

/** Serves each path with its handler, which gets the number of earlier requests for the path. */
async function routes(
  handlers: Record<string, (response: ServerResponse, before: number) => void>,
) {
  const counts = new Map<string, number>();
  return await serve((request, response) => {
    const path = request.url!;
    const before = counts.get(path) ?? 0;
    counts.set(path, before + 1);
    if (handlers[path]) handlers[path](response, before);
    else response.end("fine");
  });
}

function truncate(response: ServerResponse): void {
  response.writeHead(200, { "Content-Length": 100 });
  response.write("x".repeat(50), () => response.socket?.destroy());
}

async function reasons(url: string, ...list: Record<string, unknown>[]) {
  const { executions } = await runJson(execs(...list), "--target", url, "--workers", "1");
  return executions as { status: string; reason: string; evidence: Record<string, unknown> }[];
}

describe("no scenario is blamed for a route that was already broken", () => {
  test("a truncated response is not used as the canary", async () => {
    const { url } = await routes({ "/half": truncate });
    const [first, second, third] = await reasons(url, get("/half"), get("/half"), post("/fine"));
    for (const one of [first!, second!]) {
      expect(one).toMatchObject({ status: "failed", evidence: { response: { status: 200 } } });
      expect(one.reason).not.toContain("left the target broken");
      expect(one.evidence).not.toHaveProperty("canary");
      expect(one.evidence).not.toHaveProperty("after_damage_by");
    }
    expect(third!.status).toBe("passed");
  });

  test("a response that failed its scenario is not used as the canary", async () => {
    const { url, requests } = await routes({});
    const [, second] = await reasons(url, get("/open", { expected_status: 401 }), post("/fine"));
    expect(second!.status).toBe("passed");
    expect(requests).toHaveLength(2);
  });

  test.each<[string, Record<string, unknown>]>([
    ["a change", post("/fine")],
    ["another read that fails", get("/wrong", { expected_status: 404 })],
  ])("a route that succeeds once, then %s", async (_name, other) => {
    const { url } = await routes({
      "/once": (response, before) => before === 0 ? response.end() : truncate(response),
    });
    const [first, second] = await reasons(url, get("/once"), other);
    expect(first!.status).toBe("passed");
    expect(second!.reason).not.toContain("left the target broken");
  });

  test("a route that fails every third time", async () => {
    const { url } = await routes({
      "/flaky": (response, before) => {
        response.statusCode = before % 3 === 2 ? 500 : 200;
        response.end();
      },
    });
    const all = await reasons(url, get("/flaky"), post("/a"), post("/b"), post("/c"));
    expect(all.map(({ status }) => status)).toEqual(["passed", "passed", "passed", "passed"]);
  });
});

describe("the scenario that broke the target is named", () => {
  test.each([["/a", "failed"], ["/b", "passed"]])(
    "readings end in any order, and the first scenario's is asked: %s breaks: %s",
    async (broken, verdict) => {
      let isBroken = false;
      let letFirst = () => {};
      const { url } = await routes({
        "/a": (response, before) => {
          response.statusCode = isBroken && broken === "/a" ? 500 : 200;
          // The later scenario ends first.
          if (before === 0) letFirst = () => response.end();
          else response.end();
        },
        "/b": (response) => {
          response.statusCode = isBroken && broken === "/b" ? 500 : 200;
          response.end();
        },
        "/c": (response) => {
          response.end();
          letFirst();
        },
        "/poison": (response) => {
          isBroken = true;
          response.end();
        },
      });
      const list = [get("/a"), get("/b"), get("/c"), post("/poison")];
      const { executions } = await runJson(execs(...list), "--target", url, "--workers", "2");
      expect(executions[3]).toMatchObject({ status: verdict });
    },
  );

  test("a request that breaks one route permanently", async () => {
    let isBroken = false;
    const { url } = await routes({
      "/list": (response) => isBroken ? truncate(response) : response.end("[]"),
      "/poison": (response) => {
        isBroken = true;
        response.end();
      },
    });
    const all = await reasons(url, get("/list"), get("/other"), post("/fine"), post("/poison"));
    expect(all[2]!.status).toBe("passed");
    expect(all[3]).toMatchObject({
      status: "failed",
      reason: expect.stringContaining("left the target broken: GET /list fails since"),
      evidence: { canary: { path: "/list", broken: true } },
    });
  });

  test("a read after which every route fails", async () => {
    let isBroken = false;
    const { url } = await serve((request, response) => {
      isBroken ||= request.url === "/z";
      response.statusCode = isBroken ? 500 : 200;
      response.end();
    });
    const all = await reasons(url, get("/a"), get("/b"), get("/z"), post("/later"));
    expect(all[2]!.reason).toContain("left the target broken");
    expect(all[3]!.evidence.after_damage_by).toBe("TS-003");
  });

  test("a request that stops the target", async () => {
    const { url, server } = await serve((request, response) => {
      if (request.url !== "/end") return void response.end();
      server.close();
      server.closeAllConnections();
    });
    const list = [get("/a"), get("/end"), post("/b"), post("/c")];
    const all = await reasons(url, ...list);
    expect(all[1]!.reason).toContain("left the target broken");
    expect(all.map(({ status }) => status)).toEqual([
      ...["passed", "failed", "inconclusive", "inconclusive"],
    ]);
    expect(all[3]).toMatchObject({
      reason: expect.stringContaining("TS-002 had left the target broken"),
      evidence: { after_damage_by: "TS-002" },
    });
  });

  test("a request that fails and ends the target, so that its effect cannot be read", async () => {
    const { url, server } = await serve((request, response) => {
      if (request.url === "/end") {
        response.statusCode = 500;
        response.once("close", () => server.closeAllConnections());
        server.close();
      }
      response.end("fine");
    });
    const end = { ...post("/end"), check: { path: "/a", expected_status: 200 } };
    const all = await reasons(url, post("/a"), get("/a"), end);
    expect(all[2]).toMatchObject({
      status: "failed",
      reason: expect.stringMatching(/Answered 500.*it left the target broken/),
      evidence: { check: { why: "the connection was refused" } },
    });
    expect(all[2]!.evidence).not.toHaveProperty("after_damage_by");
  });

  test("a request after whose good answer the target ends", async () => {
    const { url, server } = await serve((request, response) => {
      response.end("fine");
      if (request.url !== "/end") return;
      response.once("close", () => server.closeAllConnections());
      server.close();
    });
    const all = await reasons(url, post("/a"), post("/end"), post("/b"), post("/c"));
    expect(all.map(({ status }) => status)).toEqual([
      ...["passed", "failed", "inconclusive", "inconclusive"],
    ]);
    expect(all[1]!.reason).toContain("it left the target broken: it gives no HTTP answer since");
    expect(all[2]).toMatchObject({
      reason: "Not sent: TS-002 had left the target broken",
      evidence: { after_damage_by: "TS-002" },
    });
  });
});

test("a target that stops and is started again is blamed on the scenario that stopped it", async () => {
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    if (request.url !== "/crash") return void response.end("fine");
    const { port } = server.address() as AddressInfo;
    server.close();
    server.closeAllConnections();
    setTimeout(() => {
      server = createServer(answer).listen(port, "127.0.0.1");
    }, 300);
  };
  let server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const [read, crash, after] = await reasons(url, get("/fine"), post("/crash"), post("/fine"));
  expect(read!.status).toBe("passed");
  expect(crash).toMatchObject({
    status: "failed",
    reason: expect.stringContaining("it stopped the target, which was started again"),
    evidence: { canary: { stopped: true, suspects: ["TS-002"] } },
  });
  expect(after).toMatchObject({ status: "passed" });
});

test("what the crash of the scenario before cuts off is sent again", async () => {
  let isCrashing = false;
  const { url } = await serve((request, response) => {
    // The first answer goes out before the process ends.
    if (request.url === "/crash") isCrashing = true;
    else if (isCrashing && request.method === "POST") {
      isCrashing = false;
      return void request.socket.destroy();
    }
    response.end("fine");
  });
  const all = await reasons(url, get("/fine"), post("/crash"), post("/later"), post("/last"));
  expect(all.map(({ status }) => status)).toEqual(["passed", "passed", "passed", "passed"]);
});

test("what ends its connection each time stays a failure", async () => {
  const { url } = await serve((request, response) => {
    if (request.url === "/cut") return void request.socket.destroy();
    response.end("fine");
  });
  const [, cut] = await reasons(url, get("/fine"), post("/cut"));
  expect(cut).toMatchObject({ status: "failed", reason: expect.stringMatching(/reset|cut off/) });
});
