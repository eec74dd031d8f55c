import type { IncomingMessage, ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { folder, serve, tool } from "./harness.ts";

const text = { type: "string" };
const ok = { responses: { 200: { description: "" } } };

type Answers = Record<string, unknown>;

/** Runs the tool on a server with these answers. Returns the findings and the requests. */
async function runOn(paths: object, answers: Answers, otherwise = 404) {
  const { url, requests } = await serve(
    (request: IncomingMessage, response: ServerResponse, body: string) => {
      const key = `${request.method} ${request.url}`;
      const found = answers[key];
      const value = typeof found === "function" ? found(body) : found;
      response.writeHead(value === undefined ? otherwise : 200, {
        "Content-Type": "application/json",
      });
      response.end(JSON.stringify(value ?? {}));
    },
  );
  const document = { openapi: "3.1.0", info: { title: "x", version: "1" }, paths };
  const cwd = folder({ "openapi.json": document });
  const { stdout } = await tool(
    cwd,
    ...["run", "--target", url, "--output", "json"],
    "--as",
    "a=A: b",
  );
  const { findings } = JSON.parse(stdout);
  const names = findings.map((one: Answers) => `${one.family} ${one.operation}`);
  return { names, lines: requests.map(({ line }) => line) };
}

const NEWS = { "/v2/news": { get: ok } };

describe("addresses that the document does not name", () => {
  test.each([
    ["a usual one", "/api/info", { "GET /v2/news": [] }],
    ["an older version of a list", "/v1/news", { "GET /v2/news": [] }],
    ["one that an answer names", "/internal/x1", { "GET /v2/news": { next: "/internal/x1" } }],
  ])("%s shows a password", async (_name, path, answers) => {
    const shown = { [`GET ${path}`]: { admin: { password: "hunter2" } } };
    const { names } = await runOn(NEWS, { ...answers, ...shown });
    expect(names).toEqual([`secrets_shown GET ${path}`]);
  });

  test("one that shows no secret is no finding", async () => {
    const { names } = await runOn(NEWS, { "GET /v2/news": [], "GET /api/info": { version: "1" } });
    expect(names).toEqual([]);
  });

  test("a service that answers every address is asked for none", async () => {
    const { lines } = await runOn(NEWS, { "GET /v2/news": [] }, 200);
    expect(lines).not.toContain("GET /api/info");
  });

  test("a GraphQL service that tells its schema", async () => {
    const schema = { data: { __schema: { queryType: { name: "Query" }, types: [] } } };
    const { names } = await runOn(NEWS, { "GET /v2/news": [], "POST /graphql": schema });
    expect(names).toEqual(["graph_schema POST /graphql"]);
    const refused = { errors: [{ message: "introspection is off" }] };
    const off = await runOn(NEWS, { "GET /v2/news": [], "POST /graphql": refused });
    expect(off.names).toEqual([]);
  });
});

describe("a language model behind an operation", () => {
  const schema = { type: "object", required: ["message"], properties: { message: text } };
  const chat = {
    "/ai/chat": {
      post: { requestBody: { content: { "application/json": { schema } } }, ...ok },
    },
  };
  const told = "You are a helpful support agent of the bank. Always follow these rules.";

  test.each([
    ["shows its instructions when told to", /ignore/i, ["prompt_injection POST /ai/chat"]],
    ["keeps them", /never/, []],
    ["shows them to everybody, which is another finding", /./, []],
  ])("%s", async (_name, pattern, expected) => {
    const say = (body: string) => ({ reply: pattern.test(body) ? told : "Hello. I can help." });
    const { names } = await runOn(chat, { "POST /ai/chat": say });
    expect(names.filter((one: string) => one.startsWith("prompt_"))).toEqual(expected);
  });
});
