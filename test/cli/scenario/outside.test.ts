import { readFileSync } from "node:fs";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Signal } from "../../../cli/io.ts";
import { CERTIFICATE, KEY } from "./certificate.ts";
import { execs, folder, runJson, serve, tool, toolWith } from "./harness.ts";

const get = (path: string, more: object = {}) => ({ mode: "http", method: "GET", path, ...more });

/** Listens until the test ends. Returns the port. */
async function listen(server: {
  listen: (port: number, host: string, done: () => void) => unknown;
  close: () => unknown;
  address: () => unknown;
}): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

describe("a TLS problem of the target is not a failed scenario", () => {
  test("an untrusted certificate exits with 3 and suggests --insecure", async () => {
    const server = createSecureServer({ key: KEY, cert: CERTIFICATE }, (_request, response) => {
      response.end();
    });
    const url = `https://127.0.0.1:${await listen(server)}`;
    const cwd = folder({ "scenarios.json": execs({ ...get("/"), priority: "critical" }) });
    const { code, stderr } = await tool(cwd, "run", "--target", url, "--wait-for-target", "1m");
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining("--insecure") });
    expect((await tool(cwd, "run", "--target", url, "--insecure")).code).toBe(0);
  });

  test("a port without TLS exits with 3", async () => {
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.end("hello\r\n");
    });
    const url = `https://127.0.0.1:${await listen(server)}`;
    const cwd = folder({ "scenarios.json": execs({ ...get("/"), priority: "critical" }) });
    const { code, stderr } = await tool(cwd, "run", "--target", url);
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining("TLS failed") });
  });
});

test("101 counts as a response", async () => {
  const { url, server } = await serve((_request, response) => response.end());
  server.on("upgrade", (_request, socket) => {
    socket.on("error", () => {});
    socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n..");
  });
  const headers = { Connection: "Upgrade", Upgrade: "x" };
  const { executions } = await runJson(
    execs(get("/", { headers, expected_status: 101 })),
    ...["--target", url, "--timeout", "5s"],
  );
  expect(executions).toMatchObject([{ status: "passed" }]);
});

describe("a 204 response with a body passes with a warning", () => {
  test.each([
    ["with Content-Length", "Content-Length: 5\r\n", "hello"],
    ["in chunks", "Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n0\r\n\r\n"],
    ["with neither", "", "hello"],
  ])("%s", async (_name, header, body) => {
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.once(
        "data",
        () => socket.end(`HTTP/1.1 204 No Content\r\n${header}Connection: close\r\n\r\n${body}`),
      );
    });
    const url = `http://127.0.0.1:${await listen(server)}`;
    const { code, executions } = await runJson(
      execs({ mode: "http", method: "DELETE", path: "/a", expected_status: 204 }),
      ...["--target", url],
    );
    expect({ code, executions }).toMatchObject({
      code: 0,
      executions: [{ status: "passed", reason: "Answered 204 as expected" }],
    });
    expect(executions[0].evidence.warnings).toMatchObject([
      { message: expect.stringContaining("body") },
    ]);
  });

  test("a 204 response without a body has no warning, and a non-HTTP response fails", async () => {
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", (data) =>
        socket.end(
          String(data).includes("/fine")
            ? "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"
            : "hello",
        ));
    });
    const url = `http://127.0.0.1:${await listen(server)}`;
    const { executions } = await runJson(execs(get("/fine"), get("/odd")), "--target", url);
    expect(executions).toMatchObject([
      { status: "passed", evidence: { warnings: [] } },
      { status: "failed" },
    ]);
  });
});

test("a run stopped by a signal exits with 3, and a second signal is not handled", async () => {
  let hear: (signal: Signal) => void = () => {};
  let isHearing = true;
  const onSignal = (handler: typeof hear) => {
    hear = handler;
    return () => void (isHearing = false);
  };
  const { url } = await serve((_request, response) => {
    hear("SIGINT");
    response.end();
  });
  const cwd = folder({ "scenarios.json": execs(get("/a"), get("/b")) });
  const argv = ["run", "--target", url, "--workers", "1", "--output", "json"];
  const { code, stdout } = await toolWith({ onSignal }, cwd, ...argv);
  const { executions, summary } = JSON.parse(stdout);
  expect(code).toBe(3);
  expect(executions.map(({ status }: { status: string }) => status)).toEqual(["passed", "skipped"]);
  expect(summary.note).toContain("stopped");
  expect(isHearing).toBe(false);
});

test("no output format contains control characters", async () => {
  const odd = "\u001b[2J\u009b31m\u202eevil";
  const { url } = await serve((_request, response) => {
    response.statusCode = 500;
    response.setHeader("Content-Type", "text/plain");
    response.end(odd);
  });
  const list = execs(get("/", { check: { path: "/", pointer: "/a", equals: odd } }))
    .map((one) => ({ ...one, title: odd, expected_behavior: odd, confidence_area: odd }));
  const cwd = folder({ "scenarios.json": list });
  const formats = ["json", "markdown", "junit", "sarif", "tap", "ctrf"];
  const reports = formats.flatMap((format) => ["--report", `${format}=${format}`]);
  const texts: string[] = [];
  for (const output of ["json", "text", "markdown", "brief"]) {
    const argv = ["run", "--target", url, "--output", output, ...reports, "--report", "github"];
    const { stdout, stderr } = await tool(cwd, ...argv);
    texts.push(stdout, stderr);
  }
  texts.push(...formats.map((format) => readFileSync(join(cwd, format), "utf8")));
  for (const text of texts) {
    // deno-lint-ignore no-control-regex
    expect(text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
  }
  expect(JSON.parse(readFileSync(join(cwd, "json"), "utf8")).scenarios[0].title).toBe(odd);
});

describe("a run without results says so", () => {
  test("if every scenario is inconclusive", async () => {
    const { url } = await serve((_request, response) => {
      response.statusCode = 401;
      response.end();
    });
    const one = get("/", { presumes: ["login"], expected_status: 200 });
    const { code, summary } = await runJson(execs(one), "--target", url);
    expect({ code, note: summary.note }).toEqual({
      code: 0,
      note: expect.stringContaining("Nothing was decided"),
    });
  });
});

describe("a request that the tool cannot fulfil exits with 3", () => {
  test.each<[string, string[], string]>([
    ["an update without a baseline", ["--baseline-update"], "there is no --baseline"],
    ["a report below a file", ["--report", "tap=scenarios.json/x"], "Cannot write"],
  ])("%s", async (_name, argv, words) => {
    const { url } = await serve((_request, response) => response.end());
    const cwd = folder({ "scenarios.json": execs(get("/")) });
    const { code, stderr } = await tool(cwd, "run", "--target", url, ...argv);
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining(words) });
  });

  test("the error of an unknown option names the help", async () => {
    const { code, stderr } = await tool(folder(), "run", "--worker", "8");
    expect(code).toBe(3);
    expect(stderr).toContain("scenario-tool run --help");
    const { stdout } = await tool(folder(), "run", "--help");
    for (const format of ["json", "markdown", "junit", "sarif", "tap", "ctrf", "github"]) {
      expect(stdout).toContain(format);
    }
  });

  test("gate scenario names itself in its help and errors", async () => {
    const called = { called: "gate scenario" } as const;
    const { stdout } = await toolWith(called, folder(), "run", "--help");
    expect(stdout).toContain("Usage: gate scenario run [options]");
    expect(stdout).toContain("(default: 10s)");
    expect(stdout).not.toMatch(/default: [[{]/);
    const { stderr } = await toolWith(called, folder(), "run", "--worker", "8");
    expect(stderr).toMatch(/^gate scenario: .*try: gate scenario run --help/s);
    const made = await toolWith(called, folder(), "init");
    expect(made.stdout).toContain("Next: gate scenario run --target");
  });

  test("a password in the target is not shown", async () => {
    const { code, stderr } = await tool(folder(), "run", "--target", "http://me:s3cret@127.0.0.1/");
    expect(code).toBe(3);
    expect(stderr).toContain("password");
    expect(stderr).not.toContain("s3cret");
  });

  test("a broken baseline is an error before the first request", async () => {
    const { url, requests } = await serve((_request, response) => response.end());
    const cwd = folder({ "scenarios.json": execs(get("/")), "base.json": "{" });
    const { code } = await tool(cwd, "run", "--target", url, "--baseline", "base.json");
    expect({ code, requests }).toEqual({ code: 3, requests: [] });
  });

  test("init creates the folder, or says why it cannot", async () => {
    const cwd = folder({ file: "" });
    expect((await tool(cwd, "init", "tests/first.json")).code).toBe(0);
    expect((await tool(cwd, "validate", "tests/first.json")).code).toBe(0);
    const { code, stderr } = await tool(cwd, "init", "file/first.json");
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr: expect.stringContaining('Cannot write "file/first.json"'),
    });
  });
});

test("a baseline update keeps entries that the run did not execute", async () => {
  const { url } = await serve((_request, response) => {
    response.statusCode = 500;
    response.end();
  });
  const cwd = folder({ "scenarios.json": execs(get("/a"), get("/b")) });
  const argv = ["run", "--target", url, "--baseline", "base.json"];
  await tool(cwd, ...argv, "--baseline-update");
  await tool(cwd, ...argv, "--baseline-update", "--filter", "TS-001");
  expect(JSON.parse(readFileSync(join(cwd, "base.json"), "utf8")).accepted).toHaveLength(2);
  expect((await tool(cwd, ...argv)).code).toBe(0);
});

test("the target's document is fetched with the run's secrets", async () => {
  const spec = { openapi: "3.1.0", paths: { "/a": { get: { responses: { 200: {} } } } } };
  const { url } = await serve((request, response) => {
    response.statusCode = request.headers["x-key"] === "s3cret" ? 200 : 403;
    response.end(JSON.stringify(spec));
  });
  const { code, stdout } = await tool(
    folder(),
    ...["run", "--target", url, "--spec", `${url}/openapi.json`, "--output", "json"],
    ...["-H", "X-Key: {{KEY}}", "--secret", "KEY=s3cret", "--depth", "light"],
  );
  expect(code).toBe(0);
  expect(stdout).not.toContain("s3cret");
});
