import { expect, test } from "vitest";
import type { Caller } from "../../../server/auth/schema.ts";
import { HttpConnections } from "../../../server/mcp/http_connections.ts";
import { TOOLS } from "../../../server/mcp/tools.ts";
import { runCommand } from "../../../server/runtime/spawn.ts";
import { until } from "./agent.ts";
import { FakeDaemon } from "./fake_daemon.ts";
import { callTool, connectClient, StreamableHTTPClientTransport } from "./sdk_client.ts";

const AGENT: Caller = { scope: "agent", id: "agent", member_id: null, via: "token", proof: null };

/** The connections over a daemon in memory, and the SDK's client connected to them. */
async function open(query = "") {
  const daemon = new FakeDaemon();
  daemon.addProject("p1", "/p1");
  const callers: Caller[] = [];
  const create = () =>
    new HttpConnections({
      fetch: (request, { caller }) => {
        callers.push(caller);
        return daemon.app.fetch(request);
      },
      run: runCommand,
      program: () => ["gate"],
      now: Date.now,
      id: () => crypto.randomUUID(),
      identity: () => null,
      log: () => {},
    });
  const state = { connections: create() };
  const restart = () => state.connections = create();
  const send = async (input: string | URL, init?: RequestInit) => {
    const request = new Request(input, init);
    if (request.method === "GET") return new Response(null, { status: 405 });
    const json = init?.body ? JSON.parse(String(init.body)) : undefined;
    const project = new URL(request.url).searchParams.get("project") ?? undefined;
    const asked = { request, json, caller: AGENT, project };
    if (request.method === "POST") return await state.connections.answer(asked);
    await state.connections.end(asked);
    return new Response(null, { status: 204 });
  };
  const url = new URL(`http://localhost/mcp${query}`);
  const transport = new StreamableHTTPClientTransport(url, { fetch: send });
  const client = await connectClient(transport, "cursor-vscode");
  return { daemon, client, transport, callers, restart, connections: () => state.connections };
}

test("the same tools answer over HTTP, under the caller's own rights", async () => {
  const { daemon, client, callers } = await open();
  expect((await client.listTools()).tools.length).toBe(TOOLS.length);
  expect((await callTool(client, "write_file", { path: "a", content: "x" })).body.status)
    .toBe("approved");
  expect((await callTool(client, "write_file", { path: ".env", content: "x" })).isError).toBe(true);
  expect(daemon.sessions).toMatchObject([{
    agent: "cursor",
    client: "cursor-vscode 2.1",
    detected_by: "only_project",
    ended: false,
  }]);
  expect(new Set(callers)).toEqual(new Set([AGENT]));
  await client.close();
});

test("a held call waits and is answered; the daemon runs the command", async () => {
  const { daemon, client } = await open();
  const answer = callTool(client, "run_command", { command: "echo held" });
  await until(() => daemon.actions.size === 1, "it is held");
  daemon.decide([...daemon.actions.keys()][0]!, { status: "approved" });
  expect((await answer).body).toMatchObject({ exit_code: 0, output: "held\n" });
  await client.close();
});

test("a client that has ended its session has its session ended", async () => {
  const { daemon, client, transport } = await open();
  await callTool(client, "project_info");
  await transport.terminateSession();
  expect(daemon.sessions).toMatchObject([{ ended: true }]);
  await client.close();
});

test("a restart of the daemon costs a client nothing but a new session", async () => {
  const { daemon, client, restart } = await open();
  await callTool(client, "project_info");
  restart();
  await callTool(client, "project_info");
  expect(daemon.sessions.map(({ agent }) => agent)).toEqual(["cursor", "cursor"]);
  await client.close();
});

test("with several projects the call or the address names one", async () => {
  const { daemon, client } = await open();
  daemon.addProject("p2", "/p2");
  const { isError, body } = await callTool(client, "project_info");
  expect(isError).toBe(true);
  expect(body.projects).toMatchObject([{ id: "p1" }, { id: "p2" }]);
  const named = await callTool(client, "project_info", { project: "p2" });
  expect(named.body).toMatchObject({ project: "p2", detected_by: "argument" });
  await client.close();
  const addressed = await open("?project=p1");
  addressed.daemon.addProject("p2", "/p2");
  expect((await callTool(addressed.client, "project_info")).body.project).toBe("p1");
  await addressed.client.close();
});

test("clients without end take no memory without end", async () => {
  const { daemon, connections } = await open();
  const post = (session: string) => {
    const json = {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "project_info", arguments: {} },
    };
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-session-id": session,
    };
    const request = new Request("http://localhost/mcp", { method: "POST", headers });
    return connections().answer({ request, json, caller: AGENT });
  };
  for (let i = 0; i < 300; i++) await (await post(`s${i}`)).text();
  await until(() => daemon.sessions.filter(({ ended }) => !ended).length <= 256, "they are ended");
  expect(daemon.sessions.length).toBe(300);
});

test.each(["", "x", "x.y", "x.bnVsbA", `x.${"A".repeat(500)}`])(
  "a made-up session id %j is an unknown client, not an error",
  async (session) => {
    const { daemon, connections } = await open();
    const request = new Request("http://localhost/mcp", {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-session-id": session,
      },
    });
    const params = { name: "project_info" };
    const json = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
    const answer = await connections().answer({ request, json, caller: AGENT });
    expect(await answer.text()).toContain('"project":"p1"');
    expect(daemon.sessions).toMatchObject([{ agent: "mcp-http" }]);
  },
);
