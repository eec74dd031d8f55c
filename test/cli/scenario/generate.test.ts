import { describe, expect, test } from "vitest";
import { operationsOf } from "../../../cli/scenario/generate/documents.ts";
import { generateScenarios } from "../../../cli/scenario/generate/generate.ts";
import { ScenarioDocument } from "../../../cli/scenario/schema.ts";
import { folder, serve, tool } from "./harness.ts";

/** Fifty operations: reads and writes, open and secured, with references and a cycle. */
function shop(): Record<string, unknown> {
  const paths: Record<string, unknown> = {};
  for (let n = 0; n < 25; n++) {
    paths[`/things${n}/{id}`] = {
      parameters: [{ name: "id", in: "path", required: true, schema: { type: "integer" } }],
      get: {
        parameters: [{ name: "limit", in: "query", schema: { type: "integer", minimum: 1 } }],
        responses: { 200: {}, 404: {} },
      },
      post: {
        tags: ["orders"],
        security: [{ bearer: [] }],
        requestBody: {
          required: true,
          content: { "application/json": { schema: { $ref: "#/components/schemas/Thing" } } },
        },
        responses: { 201: {}, 400: {}, 401: {}, 409: {} },
      },
    };
  }
  return {
    openapi: "3.1.0",
    info: { title: "Shop", version: "1" },
    paths,
    components: {
      securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
      schemas: {
        Thing: {
          type: "object",
          required: ["name", "born"],
          properties: {
            name: { type: "string", minLength: 3 },
            age: { type: "integer", minimum: 18, exclusiveMinimum: true },
            born: { type: "string", format: "date" },
            parent: { $ref: "#/components/schemas/Thing" },
            id: { type: "string", readOnly: true },
          },
        },
      },
    },
  };
}

const operations = () => operationsOf(JSON.stringify(shop()), "openapi.json");

describe("from OpenAPI", () => {
  test("50 operations give at least 150 valid scenarios, the same each time", () => {
    const [one, two] = [1, 2].map(() => generateScenarios(operations(), { depth: "light" }));
    expect(one!.length).toBeGreaterThanOrEqual(150);
    expect(ScenarioDocument.safeParse(one).success).toBe(true);
    expect(JSON.stringify(one)).toBe(JSON.stringify(two));
  });

  test("the order of a document's keys does not matter", () => {
    const turned = shop();
    turned.paths = Object.fromEntries(Object.entries(turned.paths as object).reverse());
    const plain = (document: unknown) =>
      generateScenarios(operationsOf(JSON.stringify(document), "x"), { depth: "aggressive" })
        .map(({ line: _line, ...scenario }) => scenario);
    expect(plain(turned)).toEqual(plain(shop()));
  });

  test("a small budget still covers every operation", () => {
    const scenarios = generateScenarios(operations(), { depth: "aggressive", budget: 50 });
    expect(new Set(scenarios.map(({ operation }) => operation)).size).toBe(50);
  });

  test("a greater depth gives more scenarios, and ids are consecutive", () => {
    const counts = (["light", "normal", "aggressive"] as const).map((depth) =>
      generateScenarios(operations(), { depth }).length
    );
    expect(counts).toEqual([...counts].sort((a, b) => a - b));
    const ids = generateScenarios(operations(), { depth: "light" }).map((one) => one.scenario_id);
    expect(ids.slice(0, 2)).toEqual(["TS-001", "TS-002"]);
    expect(new Set(ids).size).toBe(ids.length);
  });

  const family = (name: string) =>
    generateScenarios(operations(), { depth: "aggressive" }).filter((one) => one.family === name);

  test("a secured operation gets a critical scenario that sends no credential and expects 401", () => {
    expect(family("auth_missing")).toHaveLength(25);
    expect(family("auth_missing")[0]).toMatchObject({
      priority: "critical",
      exec: { expected_status: 401 },
    });
  });

  test("an operation that may succeed once gets a race", () => {
    expect(family("double_submit")).toHaveLength(25);
    expect(family("double_submit")[0]).toMatchObject({ exec: { concurrency: 10, method: "POST" } });
  });

  test("samples match their schema and omit read-only properties", () => {
    const body = JSON.parse(family("double_submit")[0]!.exec!.body!);
    expect(body).toMatchObject({ name: "sample", age: 19, born: "2026-01-31" });
    expect(body).not.toHaveProperty("id");
  });

  test("each scenario names its document and line", () => {
    const text = JSON.stringify(shop(), null, 2);
    const [first] = generateScenarios(operationsOf(text, "openapi.json"), { depth: "light" });
    expect(first!.source).toBe("openapi.json");
    expect(text.split("\n")[Number(first!.line) - 1]).toMatch(/"(get|post)": \{/);
  });

  test("YAML documents work, with line numbers", () => {
    const yaml =
      "openapi: 3.0.3\npaths:\n  /a:\n    get:\n      responses: { '200': { description: ok } }\n";
    expect(operationsOf(yaml, "x.yaml")).toMatchObject([{
      method: "GET",
      path: "/a",
      statuses: [200],
      line: 5,
    }]);
  });
});

describe("from other documents", () => {
  const har = {
    log: {
      entries: [{
        request: {
          method: "POST",
          url: "https://shop.example/api/cart?size=2",
          headers: [{ name: "Authorization", value: "Bearer real-token" }],
          queryString: [{ name: "size", value: "2" }],
          postData: { mimeType: "application/json", text: '{"item": 7}' },
        },
        response: { status: 201 },
      }],
    },
  };
  const postman = {
    info: { schema: "https://schema.getpostman.com/json/collection/v2.1.0/collection.json" },
    variable: [{ key: "version", value: "v2" }],
    item: [{
      name: "Cart",
      item: [{
        name: "Add",
        request: {
          method: "POST",
          url: { raw: "{{base}}/{{version}}/cart/:id?x=1" },
          body: { mode: "raw", raw: '{"item": 7}' },
        },
      }],
    }],
  };
  const markdown = [
    "| Method | Path | Purpose |",
    "|---|---|---|",
    "| GET | `/api/cart/:id` | Shows a cart |",
    "```",
    "curl -X POST http://localhost:3000/api/cart \\",
    `  -H 'Content-Type: application/json' -d '{"item": 7}'`,
    "```",
  ].join("\n");

  test("HAR: scenarios contain the bodies and no recorded credential", () => {
    const scenarios = generateScenarios(operationsOf(JSON.stringify(har), "x.har"), {
      depth: "normal",
    });
    expect(
      scenarios.some(({ exec }) => exec?.path === "/api/cart?size=2" && exec.body === '{"item":7}'),
    ).toBe(true);
    expect(JSON.stringify(scenarios)).not.toContain("real-token");
  });

  test("Postman: variables are filled in and folders become areas", () => {
    expect(operationsOf(JSON.stringify(postman), "x.json")).toMatchObject([
      { method: "POST", path: "/v2/cart/{id}", area: "cart", body: { sample: { item: 7 } } },
    ]);
  });

  test("Markdown: table rows and multi-line curl commands become operations", () => {
    expect(operationsOf(markdown, "README.md")).toMatchObject([
      { method: "GET", path: "/api/cart/{id}", summary: "Shows a cart", body: null },
      { method: "POST", path: "/api/cart", body: { sample: { item: 7 } } },
    ]);
  });
});

test.each([
  ["an unknown document", "{}", "OpenAPI"],
  ["Swagger 2", '{"swagger": "2.0", "paths": {}}', "OpenAPI"],
  ["broken JSON", "{", "Cannot read"],
  ["broken YAML", "a: [", "Cannot read"],
  [
    "a YAML bomb",
    "a: &a [1]\n" + "b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n" +
    "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c]",
    "Cannot read",
  ],
  ["OpenAPI without paths", '{"openapi": "3.1.0", "paths": {}}', "names no endpoint"],
])("%s is a usage error", async (_name, text, words) => {
  const { code, stderr } = await tool(folder({ "doc": text }), "run", "--spec", "doc");
  expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining(words) });
});

describe("a document on the target", () => {
  const spec = { openapi: "3.1.0", paths: { "/a": { get: { responses: { 200: {} } } } } };
  const serving = () =>
    serve((request, response) => {
      if (request.url === "/docs/openapi.json" && request.headers["x-key"] !== "1") {
        response.statusCode = 403;
      }
      response.end(request.url === "/docs/openapi.json" ? JSON.stringify(spec) : "");
    });

  test("is fetched with the run's headers", async () => {
    const { url } = await serving();
    const argv = [
      "run",
      "--target",
      url,
      "--spec",
      `${url}/docs/openapi.json`,
      "--depth",
      "light",
      "--output",
      "json",
    ];
    const { code, stdout } = await tool(folder(), ...argv, "-H", "X-Key: 1");
    expect({ code, executed: JSON.parse(stdout).summary.executed }).toEqual({
      code: 0,
      executed: 1,
    });
    expect((await tool(folder(), ...argv)).stderr).toContain("403");
  });

  test("is not fetched from another host", async () => {
    const { url, requests } = await serving();
    const { code, stderr } = await tool(
      folder(),
      "run",
      "--target",
      "http://127.0.0.1:9",
      "--spec",
      `${url}/docs/openapi.json`,
    );
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr: expect.stringContaining("not on the target"),
    });
    expect(requests).toEqual([]);
  });
});
