import type { Server } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DOCUMENT } from "../cli/scenario/seeded/document.ts";
import { ROUTES } from "../cli/scenario/seeded/routes.ts";
import { BUGS, openShop } from "../cli/scenario/seeded/shop.ts";
import { type Agent, connect, connectOverHttp, decide } from "./mcp_agent.ts";
import { until, World } from "./world.ts";

/** The default allows a run against loopback; a run against another host still asks. */
const POLICIES = { defaultEffect: "allow", askCommands: ["sleep"] };
const IDENTITIES = {
  alice: "Authorization: Bearer token-alice",
  bob: "Authorization: Bearer {{BOB}}",
};

let world: World;
let shop: { url: string; server: Server };

beforeAll(async () => {
  shop = await openShop(BUGS, ROUTES);
  world = await World.create("executable");
  world.write("openapi.json", JSON.stringify(DOCUMENT));
  world.write("terse.json", JSON.stringify({ scenarios: [] }));
  Object.assign(world.env, { BOB: "token-bob" });
  await world.init(POLICIES);
});

afterAll(async () => {
  shop.server.closeAllConnections();
  shop.server.close();
  await world.close();
});

const input = () => ({
  target: shop.url,
  spec: ["openapi.json"],
  identities: IDENTITIES,
  secrets: ["BOB"],
});

describe.each<[string, () => Promise<Agent>]>([
  ["stdio", () => connect(world)],
  ["POST /mcp", () => connectOverHttp(world, "agent")],
])("scenario_run over %s", (_name, open) => {
  let agent: Agent;

  beforeAll(async () => {
    agent = await open();
  });

  afterAll(() => agent.close());

  test("a run finds the bugs of a service, and the ledger records it as an action", async () => {
    const { isError, body } = await agent.call("scenario_run", input());
    expect({ isError, body }).toMatchObject({
      isError: false,
      body: {
        tool: "run_command",
        status: "approved",
        exit_code: 2,
        message: expect.stringMatching(
          /^\d+ of \d+ executed scenarios failed, some of them critical/,
        ),
      },
    });
    const failures = body.failures as { family: string; priority: string; repeat: string }[];
    expect(failures.slice(0, 5).every(({ priority }) => priority === "critical")).toBe(true);
    expect(failures.some(({ repeat }) => repeat?.startsWith("curl "))).toBe(true);
    expect((body.summary as { executed: number }).executed).toBeGreaterThan(200);
    expect(JSON.stringify(body)).not.toContain("token-bob");
    const kept = await world.api("GET", `/api/actions/${body.action_id}`);
    expect(kept.body).toMatchObject({ tool: "run_command", execution: "failed", exit_code: 2 });
    expect(kept.body.command).toContain(`scenario run --only-requests`);
  });

  test("a run against another machine is held, and sends nothing before approval", async () => {
    const elsewhere = { ...input(), target: "http://192.0.2.1", wait_ms: 0 };
    const { body } = await agent.call("scenario_run", elsewhere);
    expect(body).toMatchObject({ status: "pending", next_tool: "await_action" });
    await decide(world, String(body.action_id), "reject");
    const { body: after } = await agent.call("await_action", { action_id: body.action_id });
    expect(after).toMatchObject({ status: "rejected", execution: "none" });
  });

  test("a run against gate itself is blocked", async () => {
    const target = `http://127.0.0.1:${world.port}`;
    const { isError, body } = await agent.call("scenario_run", { ...input(), target });
    expect({ isError, body }).toMatchObject({
      isError: true,
      body: { status: "blocked", rule: { source: "builtin" } },
    });
  });

  test("a run without scenarios reports that it tested nothing", async () => {
    const nothing = { target: shop.url, scenarios: ["terse.json"] };
    const { body } = await agent.call("scenario_run", nothing);
    expect(body.message).toContain("Nothing was tested");
  });

  test("the result contains the tool's own error", async () => {
    const { body } = await agent.call("scenario_run", { ...input(), spec: ["missing.json"] });
    expect(body).toMatchObject({ exit_code: 3, output: expect.stringContaining("missing.json") });
  });
});

test("a long run sends progress notifications", async () => {
  const agent = await connect(world);
  const slow = await openShop([], [{
    method: "GET",
    pattern: /./,
    open: true,
    handle: () => new Promise((resolve) => setTimeout(resolve, 4_500, { status: 200 })),
  }]);
  const spec = { openapi: "3.1.0", paths: { "/a": { get: { responses: { 200: {} } } } } };
  world.write("slow.json", JSON.stringify(spec));
  let heard = 0;
  const call = { target: slow.url, spec: ["slow.json"], depth: "light" };
  const answered = agent.client.callTool({ name: "scenario_run", arguments: call }, undefined, {
    onprogress: () => void heard++,
    timeout: 60_000,
  });
  await until("a notification arrives", () => heard > 0);
  expect((await answered).structuredContent).toMatchObject({ exit_code: 0 });
  slow.server.close();
  await agent.close();
});
