import process from "node:process";
import { createClient } from "@libsql/client";
import { createServer, type Server } from "node:http";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { World } from "./world.ts";

describe("the executable rejects invalid requests", () => {
  let world: World;

  beforeAll(async () => {
    world = await World.create("executable");
    await world.init();
  });

  afterAll(() => world.close());

  async function post(path: string, body: string) {
    const response = await fetch(`http://127.0.0.1:${world.port}${path}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${await world.token("reviewer")}`,
        "content-type": "application/json",
      },
      body,
    });
    expect(response.headers.get("content-type")).toContain("application/problem+json");
    const problem = await response.json() as { status: number; code: string; detail: string };
    expect(problem.status).toBe(response.status);
    return problem;
  }

  const ACTIONS = "/api/actions?project=demo";
  const UNKNOWN = "019a0000-0000-7000-8000-000000000000";

  test.each([
    ["malformed JSON", ACTIONS, "{", 400, "invalid"],
    ["an array", ACTIONS, "[]", 400, "invalid"],
    ["a tool that is a number", ACTIONS, '{"tool":1,"input":{}}', 400, "invalid"],
    ["an input that is a list", ACTIONS, '{"tool":"write_file","input":[]}', 400, "invalid"],
    ["no path", ACTIONS, '{"tool":"write_file","input":{"content":""}}', 400, "invalid"],
    ["an unknown key", ACTIONS, '{"tool":"read_file","input":{"path":"a"},"x":1}', 400, "invalid"],
    ["an unknown project", "/api/actions?project=nope", "{}", 404, "not_found"],
    ["an unknown action", `/api/actions/${UNKNOWN}/approve`, "{}", 404, "not_found"],
    ["a malformed id", "/api/actions/%20/approve", "{}", 404, "not_found"],
    ["an unknown route", "/api/nothing", "{}", 404, "not_found"],
  ])("%s", async (_title, path, body, status, code) => {
    expect(await post(path, body)).toMatchObject({ status, code });
  });

  test("an invalid review leaves the action pending", async () => {
    const { body: held } = await world.api("POST", ACTIONS, {
      tool: "write_file",
      input: { path: "docs/a.txt", content: "x" },
    }, "agent");
    for (
      const body of ['{"reason":1}', '{"expected_digest":{}}', '{"content":"x","command":"y"}']
    ) {
      const verb = body.includes("content") ? "approve-with-edit" : "reject";
      const problem = await post(`/api/actions/${held.id}/${verb}`, body);
      expect(problem).toMatchObject({ status: 400, code: "invalid" });
    }
    const { body } = await world.api("GET", `/api/actions/${held.id}/status`);
    expect(body.status).toBe("pending");
  });

  test("a broken gate.config.json blocks every action, and the reason names the line", async () => {
    const config = readFileSync(join(world.project, "gate.config.json"), "utf8");
    world.write(
      "gate.config.json",
      '{\n  "id": "demo",\n  "policies": { "defaultEffect" "ask" }\n}',
    );
    const { body } = await world.api("POST", ACTIONS, {
      tool: "write_file",
      input: { path: "src/a.txt", content: "x" },
    }, "agent");
    expect(body).toMatchObject({ status: "blocked", decision: { effect: "deny" } });
    expect(body.decision.reason).toMatch(/gate\.config\.json.*\b3\b/);
    world.write("gate.config.json", config);
    const again = await world.api("POST", ACTIONS, {
      tool: "write_file",
      input: { path: "src/a.txt", content: "x" },
    }, "agent");
    expect(again.body).toMatchObject({ status: "approved", execution: "succeeded" });
  });
});

describe("the executable leaves a foreign port and a newer ledger alone", () => {
  let world: World;
  let stranger: Server | null = null;

  afterEach(async () => {
    await new Promise((resolve) => stranger?.close(resolve) ?? resolve(null));
    await world.close();
  });

  test("daemon start names the program that occupies the port, and does not kill it", async () => {
    world = await World.create("executable");
    stranger = createServer((_, response) => response.end("mine"));
    await new Promise<void>((resolve) => stranger!.listen(world.port, "127.0.0.1", resolve));
    const started = await world.run(["daemon", "start"]);
    expect(started.code).toBe(1);
    expect(started.stderr).toContain(String(world.port));
    expect(started.stderr).toContain(`process ${process.pid}`);
    expect(await (await fetch(`http://127.0.0.1:${world.port}/`)).text()).toBe("mine");
  });

  test("a ledger from a newer version is rejected and not changed", async () => {
    world = await World.create("executable");
    await world.init();
    await world.api("GET", "/api/actions?project=demo");
    await world.run(["daemon", "stop"]);
    const ledger = join(world.gateHome, "projects", "demo", "ledger.db");
    const db = createClient({ url: `file:${ledger}`, concurrency: 1 });
    await db.execute(
      "INSERT INTO migrations (version, made_by, at) VALUES (9999, '99.0.0', '2099-01-01T00:00:00.000Z')",
    );
    await db.execute("PRAGMA wal_checkpoint(TRUNCATE)");
    db.close();
    const before = readFileSync(ledger);
    const answer = await world.run(["api", "GET", "/api/actions?project=demo"]);
    expect(answer.code).toBe(1);
    expect(answer.stdout).toContain("gate 99.0.0 made it (schema 9999)");
    expect(answer.stdout).toContain("update gate on this machine");
    expect(readFileSync(ledger).equals(before)).toBe(true);
  });
});
