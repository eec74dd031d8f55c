import { mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ListRootsRequestSchema } from "../../server/mcp/sdk_client.ts";
import { type Agent, connect } from "../mcp_agent.ts";
import { World } from "../world.ts";

const STRICT = {
  sandbox: { mode: "off" },
  defaultEffect: "ask",
  allowedCommands: ["ls"],
  blockedCommands: ["make"],
  blockedPaths: ["secrets/**"],
};
const LAX = { defaultEffect: "allow" };

let world: World;
let lax: string;

/** Registers a project beside the agent's own one. */
async function add(folder: string, id: string, policies: object): Promise<string> {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "gate.config.json"), JSON.stringify({ id, policies }));
  const { status } = await world.api("POST", "/api/hub/projects", { root: folder });
  expect(status).toBe(201);
  return realpathSync(folder);
}

beforeAll(async () => {
  world = await World.create("executable");
  world.write("README.md", "before\n");
  world.write("secrets/key", "TOPSECRET\n");
  await world.init(STRICT);
  lax = await add(join(world.folder, "lax"), "lax", LAX);
  writeFileSync(join(lax, "a.txt"), "a");
  symlinkSync(lax, join(world.folder, "link"));
  await add(join(world.project, "nested"), "nested", LAX);
});
afterAll(() => world?.close());

const CALLS: [string, Record<string, unknown>][] = [
  ["run_command", { command: "true" }],
  ["write_file", { path: "x.sh", content: "x" }],
  ["edit_file", { path: "a.txt", edits: [{ old_text: "a", new_text: "b" }] }],
  ["delete_file", { path: "a.txt" }],
  ["move_file", { from: "a.txt", to: "b.txt" }],
  ["read_file", { path: "a.txt" }],
];

/** No call is allowed, what the own project blocks stays blocked, and nothing has changed. */
async function expectHeld(agent: Agent, more: Record<string, unknown> = {}) {
  for (const [tool, args] of CALLS) {
    const { body } = await agent.call(tool, { ...args, ...more, wait_ms: 0 });
    expect(body.status, `${tool} ${JSON.stringify(body)}`).toBe("pending");
  }
  const { body } = await agent.call("run_command", { command: "make", ...more, wait_ms: 0 });
  expect(body.status).toBe("blocked");
  const checked = await agent.call("policy_check", { command: "true", ...more });
  expect(checked.body.effect).toBe("ask");
  expect(readFileSync(join(lax, "a.txt"), "utf8")).toBe("a");
}

test.each<[string, () => string]>([
  ["the id of a laxer project", () => "lax"],
  ["its folder", () => lax],
  ["a folder below it", () => {
    mkdirSync(join(lax, "deep"), { recursive: true });
    return join(lax, "deep");
  }],
  ["a link to it", () => join(world.folder, "link")],
])("an argument that is %s", async (_, argument) => {
  const agent = await connect(world);
  await expectHeld(agent, { project: argument() });
  await agent.close();
});

test("roots that change in mid-session to a laxer project", async () => {
  const agent = await connect(world, { cwd: world.folder, roots: [world.project] });
  expect((await agent.call("project_info")).body.project).toBe("demo");
  agent.client.setRequestHandler(ListRootsRequestSchema, () => ({
    roots: [{ uri: pathToFileURL(lax).href }],
  }));
  const method = "notifications/roots/list_changed";
  await agent.client.transport!.send({ jsonrpc: "2.0", method });
  // `gate mcp` asks the host for its roots, and does not hold up calls meanwhile.
  await expect.poll(async () => (await agent.call("project_info")).body.project, {
    timeout: 60_000,
  })
    .toBe("lax");
  await expectHeld(agent);
  await agent.close();
});

test("a workspace in the call's metadata that changes", async () => {
  const agent = await connect(world);
  expect((await agent.call("project_info")).body.project).toBe("demo");
  const { structuredContent } = await agent.client.callTool({
    name: "run_command",
    arguments: { command: "true", wait_ms: 0 },
    _meta: { "x-codex-turn-metadata": { workspaces: { [lax]: {} } } },
  });
  expect(structuredContent).toMatchObject({ status: "pending" });
  await agent.close();
});

test("an argument from a folder of no project", async () => {
  const agent = await connect(world, { cwd: "/" });
  const { body } = await agent.call("run_command", { command: "true", project: "lax", wait_ms: 0 });
  expect(body.status).toBe("pending");
  await agent.close();
});

test("a nested laxer project, by argument and as the host's folder", async () => {
  const outer = await connect(world);
  const inner = await connect(world, { cwd: join(world.project, "nested") });
  for (const [agent, more] of [[outer, { project: "nested" }], [inner, {}]] as const) {
    const run = async (command: string) =>
      (await agent.call("run_command", { command, ...more, wait_ms: 0 })).body.status;
    expect(await run("make")).toBe("blocked");
    expect(await run("true")).toBe("pending");
    await agent.close();
  }
});

test("an own lax folder, registered by the host that starts there", async () => {
  const own = join(world.folder, "own");
  mkdirSync(own);
  writeFileSync(join(own, "gate.config.json"), JSON.stringify({ id: "own", policies: LAX }));
  const agent = await connect(world, { cwd: own });
  // Inside a sandbox it could run: nothing there is anybody else's.
  const outside = { outside_sandbox: true, reason: "to see the rules" };
  const { body } = await agent.call("run_command", { command: "true", wait_ms: 0, ...outside });
  expect(body.status).toBe("pending");
  await agent.close();
});

test("a move between two projects", async () => {
  const agent = await connect(world);
  const key = join(world.project, "secrets/key");
  const args = { from: key, to: join(lax, "key"), project: "lax", wait_ms: 0 };
  const { body } = await agent.call("move_file", args);
  expect(body.status).not.toBe("approved");
  expect(readFileSync(key, "utf8")).toBe("TOPSECRET\n");
  await agent.close();
});

test("the agent's own project keeps an event, the other one the actions", async () => {
  const { body } = await world.api("GET", "/api/audit/export?project=demo&format=json");
  const began = body.events.filter((event: { type: string; data: { project?: string } }) =>
    event.type === "session.started" && event.data.project === "lax"
  );
  expect(began.length).toBeGreaterThan(0);
  const { body: list } = await world.api("GET", "/api/actions?project=lax&limit=500");
  const rules = list.items.map((one: { decision: { rule: { list: string } | null } }) =>
    one.decision.rule?.list
  );
  expect(rules).toContain("other-project");
});
