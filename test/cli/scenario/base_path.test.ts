import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { folder, serve, tool } from "./harness.ts";

const entry = (path: string) => ({
  request: { method: "GET", url: `https://shop.example${path}`, headers: [], queryString: [] },
  response: { status: 200 },
});
const recording = (...paths: string[]) => ({ log: { entries: paths.map(entry) } });
const document = (url: string, variables = {}) => ({
  openapi: "3.1.0",
  servers: [{ url, variables }],
  paths: { "/cart": { get: { responses: { 200: {} } } } },
});

/** Runs a source against a target with this base path. Returns the requested path and stderr. */
async function requested(source: object, base: string) {
  const { url, requests } = await serve((_request, response) => response.end());
  const { stderr } = await tool(
    folder({ "source.json": source }),
    ...["run", "--target", url + base, "--spec", "source.json", "--filter", "^TS-001 "],
  );
  return { url, stderr, path: requests[0]!.line.split(" ")[1]! };
}

describe("the paths of a recording contain the base path", () => {
  test.each([
    ["", "/api/cart"],
    ["/api", "/api/cart"],
    ["/api/", "/api/cart"],
    ["/v1", "/v1/api/cart"],
  ])("with the base %j the tool requests %s", async (base, path) => {
    expect((await requested(recording("/api/cart", "/api/user"), base)).path).toBe(path);
  });

  test("paths stay unchanged if some are not below the base", async () => {
    expect((await requested(recording("/api/cart", "/login"), "/api")).path).toMatch(
      /^\/api\/(api|login)/,
    );
  });
});

describe("a document with a server path", () => {
  test.each<[string, object, string, string | null]>([
    ["/api/v1", {}, "", "/api/v1"],
    ["https://shop.example/api/v1/", {}, "", "/api/v1"],
    [
      "{scheme}://shop.example/{part}",
      { scheme: { default: "https" }, part: { default: "v2" } },
      "",
      "/v2",
    ],
    ["/api/v1", {}, "/api/v1", null],
    ["/api/v1", {}, "/proxy/api/v1", null],
    ["/", {}, "", null],
    ["https://shop.example", {}, "", null],
    ["https://[", {}, "", null],
  ])("%s %j with the base %j: the missing path is %j", async (server, variables, base, missed) => {
    const { url, stderr, path } = await requested(document(server, variables), base);
    expect(path).toBe(`${base}/cart`);
    if (missed === null) expect(stderr).not.toContain("--target");
    else expect(stderr).toContain(`use --target ${url}${missed}\n`);
  });
});

test.each([
  ["./docs.json", "docs.json"],
  ["docs.json", "docs.json"],
])("the SARIF report names %s relative to the repository", async (given, shown) => {
  const { url } = await serve((_request, response) => {
    response.statusCode = 500;
    response.end();
  });
  const cwd = folder({ "docs.json": document("/") });
  for (const name of [given, join(cwd, given)]) {
    const argv = ["run", "--target", url, "--spec", name, "--report", "sarif=out"];
    await tool(cwd, ...argv, "--report", "github");
    const [{ results }] = JSON.parse(readFileSync(join(cwd, "out"), "utf8")).runs;
    const { uri } = results[0].locations[0].physicalLocation.artifactLocation;
    expect(uri).toBe(shown);
  }
});

test.each(["nine", 0, -1, 1.5, null])(
  "an invalid line %j in a scenario file becomes line 1 in SARIF",
  async (line) => {
    const { url } = await serve((_request, response) => {
      response.statusCode = 500;
      response.end();
    });
    const cwd = folder({ "docs.json": document("/") });
    const { stdout } = await tool(cwd, "run", "--spec", "docs.json", "--output", "json");
    const scenarios = JSON.parse(stdout).scenarios.map((one: object) => ({ ...one, line }));
    const at = folder({ "scenarios.json": scenarios });
    await tool(at, "run", "--target", url, "--report", "sarif=out");
    const [{ results }] = JSON.parse(readFileSync(join(at, "out"), "utf8")).runs;
    expect(results[0].locations[0].physicalLocation.region).toEqual({ startLine: 1 });
  },
);
