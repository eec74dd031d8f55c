import { describe, expect, test } from "vitest";
import { folder, scenario, serve, tool } from "./harness.ts";

const ok = { responses: { 200: { description: "" } } };
const documentOf = (paths: object) => ({
  openapi: "3.1.0",
  info: { title: "x", version: "1" },
  paths,
});

describe("findings", () => {
  const id = { name: "id", in: "path", required: true, schema: { type: "string" } };
  const paths = {
    "/things": { get: ok },
    "/things/{id}": { parameters: [id], get: { ...ok, security: [{ key: [] }] } },
  };
  const run = async (...argv: string[]) => {
    const { url } = await serve((request, response) => {
      const isOdd = /%/.test(request.url!);
      response.writeHead(isOdd ? 500 : 200, { "Content-Type": "application/json" });
      response.end(isOdd ? `{"error":"${"x".repeat(500)}"}` : "[]");
    });
    const cwd = folder({ "openapi.json": documentOf(paths) });
    return await tool(cwd, "run", "--target", url, ...argv);
  };

  test("are folded by cause, ranked, and have what a developer must know", async () => {
    const login = ["--as", "alice=Authorization: Bearer a-secret-token"];
    const { stdout } = await run("--output", "json", ...login);
    const { findings, executions } = JSON.parse(stdout);
    const failed = executions.filter(({ status }: { status: string }) => status === "failed");
    const crashes = findings.filter(({ cwe }: { cwe: string }) => cwe === "CWE-755");
    expect(crashes).toHaveLength(1);
    expect(crashes[0]).toMatchObject({
      operation: "GET /things/{id}",
      happened: "Answered 500: the server failed",
    });
    expect(crashes[0].also.length).toBeGreaterThan(2);
    expect(crashes[0].answer).toHaveLength(200);
    expect(crashes[0].repeat).toContain('-H "Authorization: $AUTHORIZATION"');
    expect(stdout).not.toContain("a-secret-token");
    const folded = findings.flatMap((
      one: { scenario_id: string; also: string[] },
    ) => [one.scenario_id, ...one.also]);
    expect(folded.sort()).toEqual(
      failed.map((one: { scenario_id: string }) => one.scenario_id).sort(),
    );
    const ranks = findings.map(({ severity }: { severity: string }) =>
      ["critical", "high", "medium", "low"].indexOf(severity)
    );
    expect(ranks).toEqual([...ranks].sort());
  });

  test("the text shows each cause once and hides passes; --verbose shows them", async () => {
    const { stdout } = await run("--filter", "as documented|odd|percent|NUL|search");
    expect(stdout.match(/happened {2}Answered 500/g)).toHaveLength(1);
    expect(stdout).not.toContain("✓");
    expect((await run("--verbose", "--filter", "as documented")).stdout).toContain("✓");
  });
});

describe("documents", () => {
  const swagger = {
    swagger: "2.0",
    basePath: "/v2",
    securityDefinitions: { key: { type: "apiKey", in: "header", name: "X-Key" } },
    definitions: { Pet: { type: "object", properties: { size: { type: "integer" } } } },
    paths: {
      "/pets": {
        post: {
          security: [{ key: [] }],
          parameters: [{ in: "body", name: "pet", schema: { $ref: "#/definitions/Pet" } }],
          ...ok,
        },
      },
      "/pets/{id}": {
        get: { parameters: [{ in: "path", name: "id", required: true, type: "integer" }], ...ok },
      },
      "/forms": {
        post: {
          consumes: ["application/x-www-form-urlencoded"],
          parameters: [{ in: "formData", name: "size", type: "integer", required: true }],
          ...ok,
        },
      },
    },
  };
  const good = async (files: Record<string, string | object>) => {
    const [name] = Object.keys(files);
    const cwd = folder(files);
    const args = ["--spec", name!, "--output", "json", "--filter", "as documented"];
    const { code, stdout, stderr } = await tool(cwd, "run", ...args);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    return JSON.parse(stdout).scenarios.map((one: { exec: object }) => one.exec);
  };

  test("Swagger 2 is read with bodies, forms, types and security", async () => {
    const found = await good({ "swagger.json": swagger });
    expect(found).toEqual(expect.arrayContaining([
      expect.objectContaining({
        method: "POST",
        path: "/pets",
        body: '{"size":1}',
        presumes: ["login"],
      }),
      expect.objectContaining({ method: "GET", path: "/pets/1" }),
      expect.objectContaining({ method: "POST", path: "/forms", body: "size=1" }),
    ]));
  });

  test.each([["json", JSON.stringify(documentOf({ "/a": { get: ok } }))], [
    "yaml",
    'openapi: 3.1.0\npaths:\n  /a:\n    get: { responses: { "200": {} } }\n',
  ]])("a byte-order mark before %s is read over", async (kind, text) => {
    expect(await good({ [`openapi.${kind}`]: `\uFEFF${text}` })).toMatchObject([{ path: "/a" }]);
  });

  test("a wrong type is told as such, with the file and the line", async () => {
    const cwd = folder({ "a.json": [scenario({ steps: "x" })], "b.json": "[1", "c.json": "{}" });
    const { code, stderr } = await tool(cwd, "run", "--scenarios", "a.json,b.json,c.json");
    expect(code).toBe(3);
    expect(stderr).toContain("a.json:1 /0/steps must be an array, not a string");
    expect(stderr).toMatch(/b\.json:1 .*is not valid JSON/);
    expect(stderr).toContain("c.json:1");
  });

  test.each([["--timeout", "5"], ["--wait-for-target", "30"]])(
    "%s %s is refused with the units",
    async (flag, value) => {
      const { code, stderr } = await tool(folder(), "run", flag, value);
      expect(code).toBe(3);
      expect(stderr).toContain(`It needs a unit: ${value}s or ${value}ms.`);
    },
  );

  test("a pasted title works as a filter", async () => {
    const cwd = folder({ "openapi.json": documentOf({ "/a/{b}": { get: ok } }) });
    const title = "Using GET /a/{b} as documented";
    const { stdout } = await tool(cwd, "run", "--output", "json", "--filter", title);
    expect(JSON.parse(stdout).scenarios.map((one: { title: string }) => one.title)).toEqual([
      title,
    ]);
  });
});
