import { existsSync, readdirSync, readFileSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { findingsOf } from "../../../cli/scenario/report/findings.ts";
import type { Execution, Finding, Scenario } from "../../../cli/scenario/schema.ts";
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

describe("a target that gives no answer", () => {
  const secured = { security: [{ key: [] }], ...ok };
  const cwd = () =>
    folder({
      "openapi.json": {
        ...documentOf({ "/a": { get: secured }, "/b": { get: secured } }),
        components: { securitySchemes: { key: { type: "http", scheme: "bearer" } } },
      },
    });

  test("an answer that never ends is one finding for each operation, and shows nothing about logins", async () => {
    const url = await answerWith("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab");
    const argv = ["--timeout", "100ms", "--output", "json", "--as", "ann=Authorization: Bearer a"];
    const { stdout } = await tool(cwd(), "run", "--target", url, ...argv);
    const { findings, summary } = JSON.parse(stdout) as {
      findings: Finding[];
      summary: { failed: number };
    };
    expect(summary.failed).toBeGreaterThan(8);
    expect(findings.map(({ operation }) => operation).sort()).toEqual(["GET /a", "GET /b"]);
    for (const { happened, cwe, severity } of findings) {
      expect(happened).toMatch(/^No good answer: /);
      expect([cwe, severity]).toEqual(["CWE-755", "high"]);
    }
  });
});

/** A server that answers each connection with these bytes and leaves it open. */
async function answerWith(bytes: string): Promise<string> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.write(bytes);
  });
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe("every report has one entry for each cause", () => {
  const field = { type: "object", properties: { name: { type: "string" } } };
  const requestBody = { required: true, content: { "application/json": { schema: field } } };
  const id = { name: "id", in: "path", required: true, schema: { type: "string" } };
  const guarded = { security: [{ key: [] }] };
  const paths = {
    "/orders": { post: { ...ok, ...guarded, requestBody } },
    "/orders/{id}": { parameters: [id], get: { ...ok, ...guarded } },
  };

  /** A service that fails on every odd body and shows every order to everybody. */
  async function reports(source: "file" | "target") {
    const { url } = await serve((request, response, body) => {
      const isOdd = request.method === "POST" && !/^\{"name":"[\w ]+"\}$/.test(body);
      const isKnown = request.headers.authorization?.startsWith("Bearer ") ?? false;
      if (request.url === "/openapi.json") return response.end(JSON.stringify(documentOf(paths)));
      response.writeHead(isKnown ? (isOdd ? 500 : 200) : 401, {
        "Content-Type": "application/json",
      });
      response.end(JSON.stringify({ id: 1, note: "x".repeat(5_000) }));
    });
    const cwd = folder({ "openapi.json": documentOf(paths) });
    const formats = ["json", "markdown", "junit", "sarif"];
    const spec = source === "file" ? "openapi.json" : `${url}/openapi.json`;
    const { stdout } = await tool(
      cwd,
      ...["run", "--target", url, "--spec", spec, "--output", "brief", "--repro", "pack"],
      ...["--as", "alice=Authorization: Bearer hush-alice"],
      ...["--as", "bob=Authorization: Bearer hush-bob"],
      ...formats.flatMap((format) => ["--report", `${format}=${format}`]),
    );
    const read = (name: string) => readFileSync(join(cwd, name), "utf8");
    return { cwd, url, brief: stdout, ...Object.fromEntries(formats.map((f) => [f, read(f)])) } as {
      cwd: string;
      url: string;
    } & Record<"brief" | "json" | "markdown" | "junit" | "sarif", string>;
  }

  test("markdown, junit, SARIF and brief count what JSON folds, without bodies and logins", async () => {
    const found = await reports("file");
    const { findings, executions, summary } = JSON.parse(found.json);
    expect(findings.length).toBeGreaterThan(1);
    expect(summary.failed).toBeGreaterThan(findings.length);
    expect(found.markdown.match(/^## TS-/gm)).toHaveLength(findings.length);
    expect(JSON.parse(found.brief).failures).toHaveLength(findings.length);
    expect(JSON.parse(found.brief)).toMatchObject({ summary: { findings: findings.length } });
    expect(found.junit.match(/<failure /g)).toHaveLength(findings.length);
    expect(found.junit).toContain(
      `tests="${executions.length}" failures="${findings.length}" errors="0"`,
    );
    const cases = found.junit.match(/<testcase /g)!.length;
    const skipped = found.junit.match(/<skipped /g)!.length;
    expect([cases, skipped]).toEqual([
      executions.length,
      executions.length - summary.passed - findings.length,
    ]);
    expect(found.junit).toContain("Failed for the same cause as TS-");
    const failed = `${summary.failed} failed for ${findings.length} causes`;
    expect(found.markdown).toContain(`\n${failed}.\n`);
    expect(JSON.parse(found.sarif).runs[0].results).toHaveLength(findings.length);
    for (const format of ["brief", "markdown", "junit", "sarif"] as const) {
      expect(found[format]).not.toContain("x".repeat(300));
      expect(found[format]).not.toContain("[[[[[[[[[[[[[[[[[[[[");
      expect(found[format]).not.toContain("hush-");
    }
  });

  test("a long body is in the pack, where the command finds it", async () => {
    const { cwd, json } = await reports("file");
    const { findings, scenarios } = JSON.parse(json);
    const byId = new Map(scenarios.map((one: { scenario_id: string }) => [one.scenario_id, one]));
    const long = findings.filter(({ repeat }: { repeat: string }) => repeat?.includes("$PACK"));
    for (const { scenario_id, repeat } of long) {
      expect(repeat).toContain(`--data-binary "@$PACK/${scenario_id}/body"`);
      const { exec } = byId.get(scenario_id) as { exec: { body: string } };
      expect(readFileSync(join(cwd, "pack", scenario_id, "body"), "utf8")).toBe(exec.body);
    }
    const packs = readdirSync(join(cwd, "pack"));
    const bodies = packs.filter((one) => existsSync(join(cwd, "pack", one, "body")));
    expect(bodies.length).toBeGreaterThan(0);
  });

  test("a finding of two users has a command of this tool, with a variable for each login", async () => {
    const { json } = await reports("file");
    const { findings } = JSON.parse(json);
    const foreign = findings.find(({ cwe }: { cwe: string }) => cwe === "CWE-639");
    expect(foreign.repeat).toMatch(
      /^scenario-tool run --target \S+ --spec openapi\.json --as "alice=Authorization: \$ALICE_AUTHORIZATION" --as "bob=Authorization: \$BOB_AUTHORIZATION" --driver playbook --filter '/,
    );
  });

  test.each(["file", "target"] as const)(
    "SARIF has help, tags and an address relative to the repository (document from the %s)",
    async (source) => {
      const [{ tool: { driver }, results }] = JSON.parse((await reports(source)).sarif).runs;
      const rule = driver.rules.find(({ id }: { id: string }) => id === "foreign_record");
      expect(rule).toMatchObject({
        fullDescription: { text: expect.stringContaining("Bob is refused") },
        help: { text: expect.stringContaining("Expected:"), markdown: expect.any(String) },
        properties: {
          tags: ["security", "external/cwe/cwe-639"],
          "security-severity": "9.5",
        },
      });
      const ruleIds = new Set(results.map(({ ruleId }: { ruleId: string }) => ruleId));
      expect(driver.rules.map(({ id }: { id: string }) => id)).toEqual([...ruleIds].sort());
      for (const { locations: [{ physicalLocation: { artifactLocation } }] } of results) {
        expect(artifactLocation).toEqual({ uri: "openapi.json", uriBaseId: "%SRCROOT%" });
      }
    },
  );

  test("an accepted failure is suppressed in SARIF and skipped in junit", async () => {
    const { url } = await serve((_request, response) => {
      response.statusCode = 500;
      response.end();
    });
    const list = [scenario({ exec: { mode: "http", method: "GET", path: "/" } })];
    const cwd = folder({ "scenarios.json": list });
    const argv = ["run", "--target", url, "--baseline", "base.json"];
    await tool(cwd, ...argv, "--baseline-update");
    const { code } = await tool(cwd, ...argv, "--report", "sarif=s", "--report", "junit=j");
    expect(code).toBe(0);
    const [{ results }] = JSON.parse(readFileSync(join(cwd, "s"), "utf8")).runs;
    expect(results).toMatchObject([{ suppressions: [{ kind: "external" }] }]);
    expect(readFileSync(join(cwd, "j"), "utf8")).toContain('failures="0" errors="0" skipped="1"');
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
    expect(stderr).toContain("a.json:1:128 /0/steps must be an array, not a string");
    expect(stderr).toMatch(/b\.json:1:3 .*is not valid JSON/);
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

test.each([
  ["of a description", "POST /chat"],
  ["of a person, which name no operation,", undefined],
])(
  "scenarios %s that fail on a broken target are one finding with what broke it",
  (_, operation) => {
    const of = (scenario_id: string, family: string, priority: string) => ({
      ...scenario({ scenario_id, title: `${family} of ${scenario_id}` }),
      ...{ family, operation, priority, is_edge_case: family !== "good_case" },
    });
    const scenarios = [
      of("TS-001", "good_case", "high"),
      of("TS-002", "body_deep", "high"),
      of("TS-003", "field_type", "medium"),
    ] as unknown as Scenario[];
    const executions = [
      ...["TS-001", "TS-002"].map((scenario_id) => ({
        scenario_id,
        reason: "No good answer: the connection was refused; TS-003 had left the target broken",
        evidence: { after_damage_by: "TS-003" },
      })),
      { scenario_id: "TS-003", reason: "It left the target broken: it is gone", evidence: {} },
    ].map((one) => ({ ...one, status: "failed", duration_ms: 1 })) as Execution[];
    const [finding, ...others] = findingsOf({ scenarios, executions }, { target: "http://x" });
    expect(others).toEqual([]);
    expect(finding).toMatchObject({ scenario_id: "TS-003", also: ["TS-001", "TS-002"] });
  },
);

test.each([
  ["stands apart from an odd body's crash", [], ["double_submit", "body_deep"]],
  ["is the same as the crash of the good request", ["good_case"], ["good_case"]],
])("a race that makes the server fail %s", (_name, broken, expected) => {
  const families = ["double_submit", ...broken, "body_deep"];
  const scenarios = families.map((family, n) => ({
    ...scenario({ scenario_id: `TS-00${n + 1}`, title: family }),
    ...{ family, operation: "POST /register", is_edge_case: family !== "good_case" },
  })) as unknown as Scenario[];
  const executions = families.map((family, n) => ({
    scenario_id: `TS-00${n + 1}`,
    status: "failed",
    reason: family === "double_submit"
      ? "In 1 of 3 rounds: The race made the server fail with 500"
      : "Answered 500: the server failed",
    evidence: {},
    duration_ms: 1,
  })) as Execution[];
  const found = findingsOf({ scenarios, executions }, { target: "http://x" });
  expect(found.map(({ family }) => family)).toEqual(expected);
});
