import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { execs, folder } from "../cli/scenario/harness.ts";
import {
  installServers,
  missingHttpbin,
  type RealServer,
  startHttpbin,
  startServer,
} from "./servers.ts";
import { runTool } from "./tool.ts";

/**
 * Runs the scenario tool against public servers with known bugs. Without the registry every test is
 * skipped with a message.
 */
const missing = installServers();
if (missing) console.error(`\nSKIPPED, nothing was tested against real servers: ${missing}\n`);

const answers = (...statuses: number[]) => ({
  responses: Object.fromEntries(statuses.map((status) => [status, { description: "" }])),
});
const post = {
  type: "object",
  required: ["title"],
  properties: { title: { type: "string" }, author: { type: "string" } },
};
const requestBody = { required: true, content: { "application/json": { schema: post } } };
const number = { type: "integer", minimum: 1 };
const DOCUMENT = {
  openapi: "3.1.0",
  info: { title: "Posts", version: "1" },
  paths: {
    "/posts": {
      get: {
        parameters: [
          { name: "_page", in: "query", schema: { ...number, default: 1 } },
          { name: "_limit", in: "query", schema: number },
        ],
        ...answers(200),
      },
      post: { requestBody, ...answers(201) },
    },
    "/posts/{id}": {
      parameters: [{ name: "id", in: "path", required: true, schema: { type: "integer" } }],
      get: answers(200, 404),
      put: { requestBody, ...answers(200, 404) },
      delete: answers(200, 404),
    },
  },
};

interface Seen {
  scenario_id: string;
  family: string;
  operation: string;
  status: string;
  reason: string;
}

async function run(url: string, ...argv: string[]) {
  return await runWith(DOCUMENT, url, ...argv);
}

async function runWith(document: object, url: string, ...argv: string[]) {
  const cwd = folder({ "openapi.json": document });
  const { code, stdout } = await runTool(
    cwd,
    ...["run", "--target", url, "--output", "json", "--driver", "playbook"],
    ...(argv.includes("--scenarios") ? [] : ["--spec", "openapi.json", "--depth", "aggressive"]),
    ...argv,
  );
  const { scenarios, executions, summary } = JSON.parse(stdout);
  const seen: Seen[] = executions.map((one: Seen, n: number) => ({ ...scenarios[n], ...one }));
  const failed = seen.filter(({ status }) => status === "failed");
  console.log(`${summary.executed} executed, ${failed.length} failed, exit ${code}`);
  for (const one of failed) console.log(`  ${one.operation} ${one.family}: ${one.reason}`);
  return { code, seen, failed };
}

const of = (seen: Seen[], family: string) => seen.filter((one) => one.family === family);
/** Failures without those that an earlier scenario caused by breaking the server. */
const own = (failed: Seen[]) => failed.filter(({ reason }) => !/TS-\d+ had left/.test(reason));

describe.skipIf(missing !== null)("json-server 0.17.4", () => {
  let server: RealServer;
  const posts = [1, 2, 3, 4, 5].map((id) => ({ id, title: `post ${id}`, author: "x" }));

  beforeEach(async () => {
    const files = { "db.json": JSON.stringify({ posts }) };
    server = await startServer("json-server", files, (port) => ["--port", `${port}`, "db.json"]);
  });

  afterEach(() => server.close());

  test("the tool finds its 5xx responses and names the nested body as the cause of the damage", async () => {
    const { failed, seen } = await run(server.url);
    const broken = failed.filter(({ family }) => family === "percent_broken");
    expect(broken.map(({ operation }) => operation).sort()).toEqual([
      "DELETE /posts/{id}",
      "GET /posts/{id}",
      "PUT /posts/{id}",
    ]);
    expect(broken.every(({ reason }) => reason.startsWith("Answered 500"))).toBe(true);
    const culprits = failed.filter(({ reason }) => reason.includes("left the target broken:"));
    expect(culprits).toMatchObject([{ family: "body_deep", operation: "POST /posts" }]);
    // Its error page shows a stack trace, whatever the body was.
    expect(
      own(failed).filter(({ reason }) => !/shows a stack trace/.test(reason)).every(({ family }) =>
        ["percent_broken", "body_deep", "mass_assignment", "privileged_create"].includes(family)
      ),
    ).toBe(true);
    // Scenarios before the damage are unaffected.
    expect(seen.filter(({ reason }) => reason.includes("had left")).length).toBeLessThan(5);
  });

  test("of ten concurrent creations of one id, one succeeds and the others get 500", async () => {
    const exec = {
      mode: "http",
      method: "POST",
      path: "/posts",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ id: 99, title: "raced" }),
      concurrency: 10,
    };
    const cwd = folder({ "race.json": execs(exec) });
    const { failed } = await run(server.url, "--scenarios", join(cwd, "race.json"));
    expect(failed).toMatchObject([{ reason: "The race made the server fail with 500" }]);
    const kept = await (await fetch(`${server.url}/posts?title=raced`)).json();
    expect(kept).toHaveLength(1);
  });
});

describe.skipIf(missing !== null)("a Prism mock, 5.16", () => {
  let server: RealServer;

  beforeEach(async () => {
    const files = { "openapi.json": JSON.stringify(DOCUMENT) };
    const args = (port: number) => ["mock", "-p", `${port}`, "-h", "127.0.0.1", "openapi.json"];
    server = await startServer("prism", files, args);
  });

  afterEach(() => server.close());

  test.each([
    ["body_deep", "Nesting 5,000", /Answered 500|left the target broken/],
    ["body_malformed", "half a JSON document to POST", /no whole answer/],
  ])("%s makes it fail", async (family, words, reason) => {
    const filter = ["--timeout", "3s", "--filter", `as documented|${words}`];
    const { failed } = await run(server.url, ...filter);
    expect(failed.map((one) => one.family)).toContain(family);
    expect(
      of(failed, family).every((one) => reason.test(one.reason) || /had left/.test(one.reason)),
    )
      .toBe(true);
  });

  test.each([
    ["percent_broken", "percent-encoding"],
    ["header_accept", "format that cannot be"],
  ])("%s stops its process, and only that scenario is named", async (family, words) => {
    const filter = ["--filter", `as documented|${words}`];
    const { failed } = await run(server.url, "--workers", "1", ...filter);
    const culprits = failed.filter(({ reason }) => reason.includes("left the target broken:"));
    expect(culprits).toMatchObject([{ family }]);
    // Its connections close before the process exits.
    await expect.poll(() => server.isAlive(), { timeout: 10_000 }).toBe(false);
  });

  test("the reason names the concurrent requests that may have stopped it", async () => {
    const { failed } = await run(server.url, "--filter", "^(?!.*as documented).*GET ");
    // Everything whose connection it reset may have stopped it, and one of these did.
    const culprits = failed.filter(({ reason }) => /left the target broken:/.test(reason));
    const stopping = ["percent_broken", "header_accept"];
    expect(culprits.some(({ family }) => stopping.includes(family))).toBe(true);
    for (const { reason } of culprits) {
      expect(reason).toMatch(/it left|what was sent beside it \(TS-/);
    }
  });
});

describe.skipIf(missing !== null)("node-red 4.0.9", () => {
  test("of ten concurrent saves of one revision, one succeeds and nothing fails", async () => {
    const args = (port: number, home: string) => ["-s", "settings.js", "-u", home, "-p", `${port}`];
    const server = await startServer("node-red", { "settings.js": SETTINGS }, args);
    onTestFinished(() => server.close());
    const api = { "Node-RED-API-Version": "v2", "Content-Type": "application/json" };
    const get = { mode: "http", method: "GET", path: "/flows", headers: api };
    expect((await run(server.url, "--scenarios", file(execs(get)))).code).toBe(0);
    const { rev, flows } = await (await fetch(`${server.url}/flows`, { headers: api })).json();
    const save = {
      mode: "http",
      method: "POST",
      path: "/flows",
      headers: api,
      body: JSON.stringify({ rev, flows: [...flows, { id: "t1", type: "tab", label: "new" }] }),
      concurrency: 10,
      priority: "critical",
    };
    const { code, seen } = await run(server.url, "--scenarios", file(execs(save)));
    expect({ code, seen }).toMatchObject({
      code: 0,
      seen: [{ status: "passed", reason: "Only one of ten succeeded" }],
    });
  });
});

const noHttpbin = missingHttpbin();
if (noHttpbin) console.error(`\nSKIPPED: ${noHttpbin}\n`);

const inPath = (name: string) => ({
  parameters: [{ name, in: "path", required: true, schema: { type: "integer", minimum: 0 } }],
});
const HTTPBIN = {
  openapi: "3.1.0",
  info: { title: "httpbin", version: "0.7" },
  paths: {
    "/get": { get: answers(200) },
    "/delay/{seconds}": { ...inPath("seconds"), get: answers(200, 400) },
    "/range/{size}": { ...inPath("size"), get: answers(200, 400, 404) },
    "/post": {
      post: {
        requestBody: {
          required: true,
          content: { "application/json": { schema: { type: "object" } } },
        },
        ...answers(200, 400),
      },
    },
  },
};

describe.skipIf(noHttpbin !== null)("httpbin on gunicorn", () => {
  test("a negative delay and deep nesting get 500, and nothing else fails", async () => {
    const server = await startHttpbin();
    onTestFinished(() => server.close());
    const { failed, seen } = await runWith(HTTPBIN, server.url, "--timeout", "3s");
    const broken = failed.filter(({ reason }) => reason.startsWith("Answered 500"));
    const operations = new Set(broken.map(({ operation }) => operation));
    expect([...operations]).toEqual(expect.arrayContaining(["GET /delay/{seconds}", "POST /post"]));
    expect(seen.filter(({ operation, status }) => operation === "GET /get" && status === "failed"))
      .toEqual([]);
  });

  test("redirects are not followed, and a slow response times out", async () => {
    const server = await startHttpbin();
    onTestFinished(() => server.close());
    const exec = { mode: "http", method: "GET" };
    const list = execs(
      { ...exec, path: "/redirect/3", expected_status: 302 },
      { ...exec, path: "/delay/9", expected_status: 200 },
      { ...exec, path: "/status/418", expected_status: 418 },
    );
    const { seen } = await run(server.url, "--timeout", "2s", "--scenarios", file(list));
    expect(seen.map(({ status }) => status)).toEqual(["passed", "failed", "passed"]);
    expect(seen[1]!.reason).toMatch(/within 2/);
  });
});

const SETTINGS = `module.exports = {
  uiHost: "127.0.0.1",
  flowFile: "flows.json",
  logging: { console: { level: "off" } },
  telemetry: { enabled: false },
};`;

function file(scenarios: unknown): string {
  return join(folder({ "list.json": scenarios }), "list.json");
}
