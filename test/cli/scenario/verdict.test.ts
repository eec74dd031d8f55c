import { describe, expect, test } from "vitest";
import { execs, folder, runJson, scenario, serve, tool } from "./harness.ts";

const get = (path: string, more: object = {}) => ({ mode: "http", method: "GET", path, ...more });

describe("forbidden content fails a scenario", () => {
  const trace = "Error: x\n    at read (/srv/app/read.js:10:5)\n    at next (/srv/app/b.js:1:2)";
  test.each<[string, object, { body?: string; headers?: object }, string | null]>([
    ["a text", { texts: ["root:x:0:0:"] }, { body: "root:x:0:0:root" }, "root:x:0:0:"],
    ["an absent text", { texts: ["root:x:0:0:"] }, { body: "root" }, null],
    [
      "a header, in any case",
      { headers: ["x-injected"] },
      { headers: { "X-Injected": "1" } },
      "x-injected",
    ],
    ["markup on a page", { markup: ["<b>"] }, {
      body: "<b>",
      headers: { "Content-Type": "text/html" },
    }, "<b>"],
    ["markup in JSON", { markup: ["<b>"] }, {
      body: '"<b>"',
      headers: { "Content-Type": "application/json" },
    }, null],
    ["a stack trace", { traces: true }, { body: trace }, "stack trace"],
    ["a stack trace in JSON", { traces: true }, { body: JSON.stringify({ trace }) }, "stack trace"],
    [
      "a database message",
      { traces: true },
      { body: "SQLITE_ERROR: no such column" },
      "database",
    ],
    ["none of them", { traces: true }, { body: "not found, look at it" }, null],
  ])("%s", async (_name, forbidden, answer, shown) => {
    const { url } = await serve((_request, response) => {
      response.writeHead(400, { ...answer.headers });
      response.end(answer.body);
    });
    const list = execs(get("/", { forbidden, expected_status: 400 }));
    const { executions } = await runJson(list, "--target", url);
    expect(executions).toMatchObject([{
      status: shown === null ? "passed" : "failed",
      reason: expect.stringContaining(shown ?? "as expected"),
    }]);
  });
});

describe("the verdict of a scenario that presumes a login or a record", () => {
  test.each([
    [["login"], 401, "inconclusive"],
    [["login"], 403, "inconclusive"],
    [["record"], 404, "inconclusive"],
    [["record"], 401, "failed"],
    [["login", "record"], 200, "failed"],
    [["login", "record"], 500, "failed"],
    [["login", "record"], 400, "passed"],
    [[], 404, "failed"],
  ])("presumes %j, expected 400, answered %i: %s", async (presumes, status, verdict) => {
    const { url } = await serve((_request, response) => {
      response.statusCode = status;
      response.end();
    });
    const list = execs(get("/", { presumes, expected_status: 400 }));
    const { executions } = await runJson(list, "--target", url);
    expect(executions[0].status).toBe(verdict);
  });
});

describe("expected_end refused accepts any 4xx", () => {
  test.each([
    [[], 400, "passed"],
    [[], 422, "passed"],
    [[], 409, "passed"],
    [[], 403, "passed"],
    [["login"], 403, "inconclusive"],
    [["record"], 404, "inconclusive"],
    [[], 404, "inconclusive"],
    [[], 405, "inconclusive"],
    [[], 429, "inconclusive"],
    [[], 200, "failed"],
    [[], 302, "failed"],
    [["login", "record"], 500, "failed"],
  ])("presumes %j, answered %i: %s", async (presumes, status, verdict) => {
    const { url } = await serve((_request, response) => {
      response.statusCode = status;
      response.end();
    });
    const list = execs(get("/", { presumes, expected_end: "refused" }));
    const { executions } = await runJson(list, "--target", url);
    expect(executions[0].status).toBe(verdict);
  });
});

describe("identities", () => {
  const who = () =>
    serve((request, response) => {
      response.statusCode = request.headers.authorization || request.headers["x-user"] ? 200 : 401;
      response.end(`${request.headers.authorization} ${request.headers["x-user"]}`);
    });
  const step = (name: string, more: object) => ({ name, method: "GET", path: `/${name}`, ...more });

  test("a request without an identity uses the first one, and an anonymous request uses none", async () => {
    const { url, requests } = await who();
    const steps = [step("plain", {}), step("bob", { as: "bob" }), step("nobody", { as: "nobody" })];
    const list = [
      ...execs(get("/exec"), get("/stranger", { anonymous: true })),
      scenario({ scenario_id: "TS-003", playbook: { steps } }),
    ];
    const { executions } = await runJson(
      list,
      ...["--target", url, "--workers", "1", "--as", "alice=X-User: alice"],
      ...["--as", "bob=Authorization: Bearer bob"],
    );
    expect(executions.map(({ status }: { status: string }) => status)).toEqual(
      ["passed", "passed", "passed"],
    );
    const sent = requests.map(({ line, headers }) => [
      line.split("/")[1],
      headers.includes("alice"),
      headers.includes("Bearer bob"),
    ]);
    // The canary repeats a good request before and after the playbook, which may change data.
    expect(sent).toEqual([
      ["exec", true, false],
      ["stranger", false, false],
      ["exec", true, false],
      ["plain", true, false],
      ["bob", false, true],
      ["nobody", false, false],
      ["exec", true, false],
    ]);
  });
});

test("a scenario that ends the login is named, and later refusals are inconclusive", async () => {
  let loggedIn = true;
  const { url } = await serve((request, response) => {
    if (request.url === "/bye") loggedIn = false;
    response.statusCode = loggedIn ? 200 : 401;
    response.end();
  });
  const presumes = ["login"];
  const post = (path: string) => ({ mode: "http", method: "POST", path, presumes });
  const list = execs(get("/me", { presumes }), post("/fine"), post("/bye"), post("/fine"));
  const { executions } = await runJson(list, "--target", url);
  expect(executions.map(({ status }: { status: string }) => status)).toEqual(
    ["passed", "passed", "passed", "inconclusive"],
  );
  expect(executions[2].reason).toContain("it ended the login of this run");
  expect(executions[3].reason).toContain("TS-003 had ended the login");
});

test("an API key in a custom header is forged only in that header", async () => {
  const spec = {
    openapi: "3.1.0",
    security: [{ key: [] }],
    components: { securitySchemes: { key: { type: "apiKey", in: "header", name: "X-Key" } } },
    paths: { "/a": { get: { responses: { 200: {}, 401: {} } } } },
  };
  const { url, requests } = await serve((request, response) => {
    response.statusCode = request.headers["x-key"] === "real" ? 200 : 401;
    response.setHeader("WWW-Authenticate", "Key");
    response.end();
  });
  const { code } = await tool(
    folder({ "openapi.json": spec }),
    ...["run", "--target", url, "--as", "alice=X-Key: real", "--workers", "1"],
    ...["--filter", "made-up|without logging"],
  );
  expect(code).toBe(0);
  // The rehearsal comes first, with the real key.
  const [rehearsal, ...forged] = requests.filter(({ line }) => line === "GET /a")
    .map(({ headers }) => headers);
  expect(rehearsal).toContain("real");
  expect(forged.map((headers) => headers.includes("X-Key"))).toEqual([true, false]);
  expect(forged.every((headers) => !headers.includes("real"))).toBe(true);
});

test("reads run first, then races, then changes, then requests that may break the target", async () => {
  const { url, requests } = await serve((_request, response) => response.end());
  const post = (path: string, more: object = {}) => ({
    mode: "http",
    method: "POST",
    path,
    ...more,
  });
  const list = execs(
    post("/strain", { body: "[".repeat(5_000) }),
    post("/change"),
    post("/race", { concurrency: 2 }),
    get("/odd"),
    get("/plain"),
  ).map((one, at) => ({ ...one, is_edge_case: at < 4 }));
  await runJson(list, "--target", url, "--workers", "1");
  const order = [...new Set(requests.map(({ line }) => line.split(" ")[1]))];
  expect(order).toEqual(["/plain", "/odd", "/race", "/change", "/strain"]);
});
