import { describe, expect, test } from "vitest";
import { execs, folder, runJson, scenario, serve, tool } from "./harness.ts";

const get = (path: string, more: object = {}) => ({ mode: "http", method: "GET", path, ...more });

describe("exit codes", () => {
  const crash = get("/crash");
  test.each([
    ["everything passes", [get("/ok")], 0],
    ["a failure that is not critical", [get("/ok"), { ...crash, priority: "high" }], 1],
    ["a critical failure", [{ ...crash, priority: "critical" }], 2],
    ["a critical scenario that passes", [{ ...get("/ok"), priority: "critical" }, crash], 1],
  ])("%s", async (_name, list, code) => {
    const { url } = await serve((request, response) => {
      response.statusCode = request.url === "/crash" ? 500 : 200;
      response.end();
    });
    const result = await runJson(execs(...list), "--target", url);
    expect({ code: result.code, said: result.exit_code }).toEqual({ code, said: code });
  });

  test("without a target, scenarios are validated and not executed", async () => {
    const result = await runJson([scenario({ priority: "critical" })]);
    expect(result).toMatchObject({ code: 0, executions: [], exit_code: 0 });
    expect(result.stderr).toContain("Nothing was executed");
  });

  test("a scenario without exec is skipped, stderr says so, and a run that executed nothing exits 3", async () => {
    const { url } = await serve((_request, response) => response.end());
    const result = await runJson([scenario({ priority: "critical" })], "--target", url);
    expect(result).toMatchObject({ code: 3, executions: [{ status: "skipped" }] });
    expect(result.stderr).toContain(
      "1 scenario needs several requests or a model, and was not run",
    );
  });

  test.each([
    [["run", "--output", "xml"]],
    [["run", "--target", "ftp://x"]],
    [["run", "--target", "http://127.0.0.1:1", "--scenarios", "one.json"]],
    [["run", "--scenarios", "missing.json"]],
    [["run", "--timeout", "soon"]],
    [["run", "--workers", "0"]],
    [["run", "--filter", "("]],
    [["run", "-H", "no colon"]],
    [["run", "--no-such-flag"]],
    [["walk"]],
  ])("%j is a usage error and exits with 3", async (argv) => {
    const { code, stdout, stderr } = await tool(folder({ "one.json": [scenario()] }), ...argv);
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
    expect(stderr).toMatch(/^(scenario-tool|error): /);
  });
});

test("a run without scenarios prints an empty list and says so", async () => {
  const { code, stdout, stderr } = await tool(folder(), "run", "--output", "json");
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ scenarios: [], executions: [] });
  expect(stderr).toContain("Nothing was tested: no scenario was read (give --target and --spec)");
});

test("each scenario sends one request, without redirects or retries", async () => {
  const { url, requests } = await serve((request, response) => {
    if (request.url === "/moved") response.writeHead(302, { Location: "/elsewhere" });
    else response.statusCode = 503;
    response.end();
  });
  const list = execs(get("/moved", { expected_status: 302 }), get("/flaky"));
  const { executions } = await runJson(list, "--target", url, "--workers", "1");
  expect(executions.map(({ status }: { status: string }) => status)).toEqual(["passed", "failed"]);
  expect(requests.map(({ line }) => line)).toEqual(["GET /moved", "GET /flaky"]);
});

test.each([
  ["", "/", "GET /"],
  ["", "/a/../b/%2e%2e//c;d?e=1&e=2#", "GET /a/../b/%2e%2e//c;d?e=1&e=2#"],
  ["/base/", "x", "GET /base/x"],
  ["/base", "/x", "GET /base/x"],
  ["/base", "?q=1", "GET /base?q=1"],
  ["", "/%E0%A4%A", "GET /%E0%A4%A"],
  ["", "/with blank/\u00e9", "GET /with%20blank/%C3%A9"],
])("base %j and path %j give the request line %j", async (base, path, line) => {
  const { url, requests } = await serve((_request, response) => response.end());
  await runJson(execs(get(path)), "--target", url + base);
  expect(requests.map((request) => request.line)).toEqual([line]);
});

test("method, headers and body arrive unchanged", async () => {
  const { url, requests } = await serve((_request, response) => response.end());
  const headers = { Host: "other.example", "X-UTF8": "gr\u00fc\u00dfe", "x-lower": "1" };
  await runJson(
    execs({ mode: "http", method: "DELETE", path: "/", headers, body: "\u00e4\u0000" }),
    "--target",
    url,
    "-H",
    "X-Added: yes",
    "-H",
    "x-LOWER: overridden",
  );
  expect(requests[0]).toMatchObject({ line: "DELETE /", body: "\u00e4\u0000" });
  const sent = requests[0]!.headers;
  expect(sent[sent.indexOf("Host") + 1]).toBe("other.example");
  expect(sent[sent.indexOf("X-Added") + 1]).toBe("yes");
  expect(sent.filter((name) => name.toLowerCase() === "x-lower")).toEqual(["x-lower"]);
  expect(sent[sent.indexOf("Content-Length") + 1]).toBe("3");
  const bytes = Uint8Array.from(sent[sent.indexOf("X-UTF8") + 1]!, (char) => char.charCodeAt(0));
  expect(new TextDecoder().decode(bytes)).toBe(headers["X-UTF8"]);
});

test("a target that never answers causes a time-out", async () => {
  const { url } = await serve(() => {});
  const { executions } = await runJson(execs(get("/")), "--target", url, "--timeout", "100ms");
  expect(executions).toMatchObject([{
    status: "failed",
    reason: expect.stringContaining("100 ms"),
  }]);
});

test("an endless response is read up to a limit", async () => {
  const { url } = await serve((_request, response) => {
    const more = () => {
      while (!response.destroyed && response.write("x".repeat(65_536)));
      if (!response.destroyed) response.once("drain", more);
    };
    more();
  });
  const { executions } = await runJson(execs(get("/")), "--target", url);
  expect(executions[0].status).toBe("passed");
  expect(executions[0].evidence.response.body_bytes).toBeLessThan(10_000_000);
});

test("the scenario that broke the target is named", async () => {
  let broken = false;
  const { url } = await serve((request, response) => {
    if (request.url === "/poison") broken = true;
    response.statusCode = broken ? 500 : 200;
    response.end();
  });
  const post = (path: string) => ({ mode: "http", method: "POST", path });
  const list = execs(get("/ok"), post("/fine"), post("/poison"), post("/fine"));
  const { executions } = await runJson(list, "--target", url);
  expect(executions[2].reason).toContain("left the target broken");
  expect(executions[3].evidence.after_damage_by).toBe("TS-003");
});

test("isLoopback() accepts only loopback addresses", async () => {
  const { isLoopback, parseTarget } = await import("../../../cli/scenario/execute/target.ts");
  expect(
    ["http://localhost:1", "http://127.9.9.9", "http://[::1]:2"].map((url) =>
      isLoopback(parseTarget(url))
    ),
  )
    .toEqual([true, true, true]);
  expect(
    ["http://10.0.0.1", "http://localhost.example", "http://127.0.0.1.example"].map((url) =>
      isLoopback(parseTarget(url))
    ),
  ).toEqual([false, false, false]);
});

describe("command lines", () => {
  test.each([
    ["the expected exit code passes", ["sh", "-c", "exit 3"], 3, "passed", "Exited with 3"],
    ["another exit code fails", ["sh", "-c", "exit 3"], 0, "failed", "instead of 0"],
    ["death by a signal fails", ["sh", "-c", "kill -SEGV $$"], 0, "failed", "SIGSEGV"],
    ["a missing program fails", ["/no/such/program"], 0, "failed", "cannot be started"],
    [
      "blanks and quotes in arguments are kept",
      ["sh", "-c", '[ "$1" = "a  \'b" ]', "x", "a  'b"],
      0,
      "passed",
      "0",
    ],
  ])("%s", async (_name, command, expected_exit, status, reason) => {
    const { url } = await serve((_request, response) => response.end());
    const { executions } = await runJson(
      execs({ mode: "cli", command, expected_exit }),
      "--target",
      url,
    );
    expect(executions).toMatchObject([{ status, reason: expect.stringContaining(reason) }]);
  });

  test("a command that hangs is killed with its children", async () => {
    const { url } = await serve((_request, response) => response.end());
    const command = ["sh", "-c", "sleep 60 & echo $!; sleep 60"];
    const { executions } = await runJson(
      execs({ mode: "cli", command }),
      "--target",
      url,
      "--timeout",
      "300ms",
    );
    expect(executions[0]).toMatchObject({
      status: "failed",
      evidence: { command: { timed_out: true } },
    });
  });

  test("of 10 MB of output the head and the tail are kept", async () => {
    const { url } = await serve((_request, response) => response.end());
    const command = ["sh", "-c", "echo first; head -c 10000000 /dev/zero; echo last"];
    const { executions } = await runJson(execs({ mode: "cli", command }), "--target", url);
    const { stdout, dropped_bytes } = executions[0].evidence.command;
    expect(stdout.startsWith("first") && stdout.endsWith("last\n")).toBe(true);
    expect(stdout.length + dropped_bytes).toBeGreaterThan(10_000_000);
  });
});

test("an anonymous scenario is sent without the run's credentials", async () => {
  const { url, requests } = await serve((request, response) => {
    response.statusCode = request.headers.authorization ? 200 : 401;
    response.end();
  });
  const list = execs(
    get("/", { anonymous: true, expected_status: 401 }),
    get("/", { expected_status: 200 }),
  );
  const { executions } = await runJson(
    list,
    "--target",
    url,
    "-H",
    "Authorization: Bearer x",
    "-H",
    "X-Trace: 1",
  );
  expect(executions.map(({ status }: { status: string }) => status)).toEqual(["passed", "passed"]);
  expect(requests.every(({ headers }) => headers.includes("X-Trace"))).toBe(true);
});

test("an event stream passes by its status and headers", async () => {
  const { url } = await serve((_request, response) => {
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    response.write(": open\n\n");
  });
  const { executions } = await runJson(execs(get("/", { expected_status: 200 })), "--target", url);
  expect(executions[0].status).toBe("passed");
});
