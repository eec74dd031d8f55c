import type { IncomingMessage } from "node:http";
import { describe, expect, test } from "vitest";
import { execs, folder, runJson, serve, tool } from "./harness.ts";

const answers = (...statuses: number[]) => ({
  responses: Object.fromEntries(statuses.map((status) => [status, { description: "" }])),
});
const bearer = { securitySchemes: { key: { type: "http", scheme: "bearer" } } };
const parameters = [{ name: "id", in: "path", required: true, schema: { type: "integer" } }];
const requestBody = {
  content: {
    "application/json": { schema: { type: "object", properties: { text: { type: "string" } } } },
  },
};
const NOTES = {
  openapi: "3.1.0",
  info: { title: "Notes", version: "1" },
  components: bearer,
  security: [{ key: [] }],
  paths: {
    "/notes": { post: { requestBody, ...answers(201) }, get: answers(200) },
    "/notes/{id}": {
      parameters,
      get: answers(200, 404),
      put: { requestBody, ...answers(200) },
    },
  },
};

const nameOf = ({ headers }: IncomingMessage) => headers.authorization?.split(" ")[1] ?? "nobody";

describe("a request without a login", () => {
  test.each([
    [[401], 403, "passed"],
    [[403], 401, "passed"],
    [[], 403, "passed"],
    [[401], 404, "inconclusive"],
    [[401], 405, "inconclusive"],
    [[401], 429, "inconclusive"],
    [[401], 400, "inconclusive"],
    [[401], 302, "inconclusive"],
    [[401], 200, "failed"],
    [[], 500, "failed"],
  ])("documented %j, answered %i: %s", async (documented, status, verdict) => {
    const { url } = await serve((request, response) => {
      const isGood = nameOf(request) === "alice";
      response.writeHead(isGood ? 200 : status).end("{}");
    });
    const paths = { "/me": { get: answers(200, ...documented) } };
    const cwd = folder({ "openapi.json": { ...NOTES, paths } });
    const { stdout } = await tool(
      cwd,
      ...["run", "--target", url, "--output", "json", "--filter", "without logging in|made-up"],
      ...["--as", "alice=Authorization: Bearer alice"],
    );
    const { executions } = JSON.parse(stdout);
    expect(executions.map((one: { status: string }) => one.status)).toEqual([verdict, verdict]);
  });
});

/** Notes of users. `bob` gives the status that Bob gets for a note of Alice; null is none. */
function notes({ bob, put = 200, list = [] }: {
  bob: (method: string) => number;
  put?: number;
  list?: unknown[];
}) {
  return serve((request, response) => {
    const answer = (status: number, value: unknown) =>
      response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(value));
    const who = nameOf(request);
    if (who !== "alice" && who !== "bob") return answer(401, {});
    if (request.url === "/notes") {
      return request.method === "POST" ? answer(201, { id: 7 }) : answer(200, list);
    }
    const status = who === "bob" ? bob(request.method!) : request.method === "PUT" ? put : 200;
    answer(status, status === 200 ? { id: 7, text: "mine" } : {});
  });
}

describe("a record of somebody else", () => {
  const run = async (server: Parameters<typeof notes>[0]) => {
    const { url } = await notes(server);
    const cwd = folder({ "openapi.json": NOTES });
    const { stdout } = await tool(
      cwd,
      ...["run", "--target", url, "--output", "json", "--filter", "somebody else's record through"],
      ...["--as", "alice=Authorization: Bearer alice", "--as", "bob=Authorization: Bearer bob"],
    );
    const { scenarios, executions } = JSON.parse(stdout);
    return Object.fromEntries(
      executions.map(({ status }: { status: string }, n: number) => [
        scenarios[n].operation.split(" ")[0],
        status,
      ]),
    );
  };

  test.each([
    ["refused", 403, { GET: "passed", PUT: "passed" }],
    ["hidden", 404, { GET: "passed", PUT: "passed" }],
    ["refused for another reason", 400, { GET: "inconclusive", PUT: "inconclusive" }],
    ["limited", 429, { GET: "inconclusive", PUT: "inconclusive" }],
    ["accepted", 200, { GET: "failed", PUT: "failed" }],
  ])("%s with %i", async (_name, status, verdicts) => {
    expect(await run({ bob: () => status })).toEqual(verdicts);
  });

  test("a refusal that the owner gets too proves nothing", async () => {
    expect(await run({ bob: () => 403, put: 400 })).toEqual({ GET: "passed", PUT: "inconclusive" });
  });

  test("a record that the list of everybody shows whole may be for everybody", async () => {
    const list = [{ text: "mine", id: 7 }];
    expect(await run({ bob: () => 200, list })).toMatchObject({ GET: "inconclusive" });
    expect(await run({ bob: () => 200, list: [{ id: 7 }] })).toMatchObject({ GET: "failed" });
  });
});

test("a run against a target that executed nothing exits 3", async () => {
  const { url } = await serve((_request, response) => response.end());
  const list = execs({ mode: "http", method: "GET", path: "/" });
  expect(await runJson(list, "--target", url, "--filter", "no such title")).toMatchObject({
    code: 3,
    exit_code: 3,
    executions: [],
  });
  expect(await runJson(list, "--filter", "no such title")).toMatchObject({ code: 0 });
});
