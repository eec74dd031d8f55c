import { writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, test } from "vitest";
import type { SandboxEngine } from "../../../server/environment.ts";
import { openHooks, SPEAK } from "./stage.ts";

type Json = Record<string, unknown>;

/** The tests build walls and look at answers; only `test/e2e/walled_shell.test.ts` runs commands. */
const ENGINE: SandboxEngine = {
  name: "bubblewrap",
  path: "/usr/bin/bwrap",
  version: "0.8.0",
  can_mask: true,
};
const POLICIES = {
  defaultEffect: "ask" as const,
  blockedPaths: ["secret.txt"],
  allowedCommands: ["echo"],
  sandbox: { mode: "auto" as const },
};
const OWN = "bash work.sh";

/** Hosts that take another command, with the keys of the answer that holds it. */
const TAKING: [host: string, path: string[]][] = [
  ["claude-code", ["hookSpecificOutput", "updatedInput", "command"]],
  ["codex", ["hookSpecificOutput", "updatedInput", "command"]],
  ["gemini-cli", ["hookSpecificOutput", "tool_input", "command"]],
  ["copilot-cli", ["modifiedArgs", "command"]],
];
const NOT_TAKING = ["qwen-code", "cursor"];

/** A host's session in a project with an own script. */
async function open(host: string, policies: Json = POLICIES) {
  const hooks = await openHooks(host, {
    policies,
    sandbox: () => Promise.resolve(ENGINE),
    files: { "work.sh": "cat secret.txt\n", "secret.txt": "S\n" },
  });
  const { gate, post, actions } = hooks;
  const { command: tool, before, after } = SPEAK[host]!;
  let count = 0;
  const call = (command: string, more: Json = {}) => {
    const at = { cwd: gate.root, key: `k${++count}` };
    const input = { command, description: "x" };
    return {
      before: { permission_mode: "bypassPermissions", ...before(tool, input, at), ...more },
      after: (ran: string) => after(tool, { ...input, command: ran }, at),
    };
  };
  const send = async (method: "POST", path: string, body: unknown) => {
    const response = await gate.request(method, path, body, "agent");
    return { status: response.status, body: await response.json() as Json };
  };
  const take = (ticket: string) => send("POST", `/api/hooks/runs/${ticket}`, { pid: process.pid });
  const end = (ticket: string, more: Json = {}) =>
    send("POST", `/api/hooks/runs/${ticket}/result`, {
      ...{ exit_code: 0, output: "", truncated: false, duration_ms: 1, ...more },
    });
  /** Lets the shell show that it takes another command. */
  const tryOut = async (path: string[], exit_code = 0) => {
    const first = call("echo first");
    const { output } = await post(first.before);
    const ticket = ticketOf(commandAt(output, path));
    expect(await take(ticket)).toMatchObject({ status: 200, body: { run: null } });
    expect((await end(ticket, { exit_code })).status).toBe(200);
    await post(first.after(commandAt(output, path)));
    return commandAt(output, path);
  };
  return { gate, post, actions, call, take, end, tryOut };
}

function commandAt(output: Json, path: string[]): string {
  return path.reduce<unknown>((at, key) => (at as Json | undefined)?.[key], output) as string;
}

const ticketOf = (command: string) => / hook run ([\w-]{36})/.exec(command)![1]!;

describe.each(TAKING)("the shell of %s", (host, path) => {
  test("is tried with a command that may run anyway, then runs in the sandbox unasked", async () => {
    const { post, call, take, end, tryOut, actions, gate } = await open(host);
    expect((await post(call(OWN).before)).held).not.toBe(null);
    expect(await tryOut(path)).toMatch(
      /^GATE_HOME='[^']+' GATE_PORT=\d+ '.* hook run \S+\necho first$/,
    );
    const own = call(OWN);
    const { output, held } = await post(own.before);
    expect(held).toBe(null);
    const command = commandAt(output, path);
    expect(command).toMatch(/^GATE_HOME='[^']+' GATE_PORT=\d+ '.* hook run [\w-]{36}$/);
    expect(JSON.stringify(output)).toContain('"description":"x"');
    const { status, body } = await take(ticketOf(command));
    expect(status).toBe(200);
    const root = gate.root;
    expect(body.run).toMatchObject({ command: OWN, cwd: root, walls: { network: "loopback" } });
    const { mounts } = (body.run as { walls: { mounts: Json[] } }).walls;
    expect(mounts).toContainEqual({ at: join(root, "secret.txt"), as: "hidden_file" });
    expect((await take(ticketOf(command))).status).toBe(404);
    // A server in the background: the host reports before the command has ended.
    await post(own.after(command));
    expect((await actions())[0]).toMatchObject({ execution: "running" });
    const output_text = "cat: secret.txt: Permission denied\n";
    const ended = await end(ticketOf(command), { exit_code: 1, output: output_text });
    expect(ended.body.walls).toEqual([expect.stringContaining("hidden")]);
    expect((await end(ticketOf(command))).status).toBe(404);
    expect((await actions())[0]).toMatchObject({
      ...{ command: OWN, status: "approved", execution: "failed", exit_code: 1 },
      decision: { sandbox: { engine: "bubblewrap" } },
    });
    const finished = (await gate.audit()).findLast(({ type }) => type === "action.finished");
    expect(finished?.data.sandbox).toMatchObject({ engine: "bubblewrap" });
  });

  test("that ran the agent's own command instead is told of, and is asked again", async () => {
    const { post, call, tryOut, actions, gate } = await open(host);
    await tryOut(path);
    const own = call(OWN);
    expect((await post(own.before)).held).toBe(null);
    await post(own.after(OWN));
    expect((await actions())[0]).toMatchObject({
      ...{ execution: "failed", error: expect.stringContaining("outside the sandbox") },
      decision: { sandbox: null },
    });
    const finished = (await gate.audit()).findLast(({ type }) => type === "action.finished");
    expect(finished?.data.sandbox).toBe(null);
    expect((await post(call(OWN).before)).held).not.toBe(null);
    expect((await post(call("echo again").before)).output).toEqual({});
  });

  test("without a sandbox of its own keeps the old rules", async () => {
    const { post, call, tryOut } = await open(host);
    await tryOut(path, 1);
    expect((await post(call(OWN).before)).held).not.toBe(null);
    expect((await post(call("echo again").before)).output).toEqual({});
  });

  test("that was given a trial and ignores it keeps the old rules", async () => {
    const { post, call } = await open(host);
    const first = call("echo first");
    await post(first.before);
    await post(first.after("echo first"));
    expect((await post(call("echo again").before)).output).toEqual({});
    expect((await post(call(OWN).before)).held).not.toBe(null);
  });

  test("runs a proved command in the sandbox while another one works there", async () => {
    const { post, call, take, end, tryOut, actions } = await open(host);
    await tryOut(path);
    const plain = call("echo a");
    expect((await post(plain.before)).output).toEqual({});
    await post(plain.after("echo a"));
    const own = ticketOf(commandAt((await post(call(OWN).before)).output, path));
    expect((await take(own)).status).toBe(200);
    const second = ticketOf(commandAt((await post(call("echo b").before)).output, path));
    expect((await take(second)).body.run).toMatchObject({ command: "echo b" });
    await end(second, { output: "b\n" });
    expect((await actions())[0]).toMatchObject({
      ...{ command: "echo b", execution: "succeeded" },
      decision: { sandbox: { engine: "bubblewrap" } },
    });
    await end(own);
    expect((await post(call("echo c").before)).output).toEqual({});
  });
});

test.each(["claude-code", "codex"])("%s keeps its own questions: no replacement", async (host) => {
  const { post, call } = await open(host);
  const asking = { permission_mode: "default" };
  expect((await post(call("echo first", asking).before)).output).toEqual({});
  expect((await post(call(OWN, asking).before)).held).not.toBe(null);
});

test.each(NOT_TAKING)("%s takes no other command: no replacement", async (host) => {
  const { post, call } = await open(host);
  expect((await post(call("echo first").before)).output).toEqual({});
  expect((await post(call(OWN).before)).held).not.toBe(null);
});

test("with the sandbox switched off nothing is replaced", async () => {
  const { post, call } = await open("claude-code", { ...POLICIES, sandbox: { mode: "off" } });
  expect((await post(call("echo first").before)).output).toEqual({});
  expect((await post(call(OWN).before)).held).not.toBe(null);
});

test("what a rule denies or asks about stays so in the sandbox", async () => {
  const policies = { ...POLICIES, askCommands: ["bash"], blockedCommands: ["touch"] };
  const { post, call, tryOut } = await open("claude-code", policies);
  await tryOut(TAKING[0]![1]);
  expect((await post(call(OWN).before)).held).not.toBe(null);
  expect(JSON.stringify((await post(call("touch a").before)).output)).toContain("Blocked by gate");
});

test("a policy that became stricter stops the command before it starts", async () => {
  const { gate, post, call, take, tryOut } = await open("claude-code");
  const path = TAKING[0]![1];
  await tryOut(path);
  const ticket = ticketOf(commandAt((await post(call(OWN).before)).output, path));
  const policies = { ...POLICIES, blockedCommands: ["bash"] };
  writeFileSync(join(gate.root, "gate.config.json"), JSON.stringify({ id: "demo", policies }));
  expect(await take(ticket)).toMatchObject({ status: 409 });
});

test.each([
  ["an unknown ticket", "00000000-0000-4000-8000-000000000000", { pid: 4242 }, 404],
  ["no pid", "00000000-0000-4000-8000-000000000000", {}, 400],
  ["the first process", "00000000-0000-4000-8000-000000000000", { pid: 1 }, 400],
])("a run with %s is refused", async (_, ticket, body, status) => {
  const { gate } = await open("claude-code");
  const answer = await gate.request("POST", `/api/hooks/runs/${ticket}`, body, "agent");
  expect(answer.status).toBe(status);
  expect(await answer.json()).toHaveProperty("detail");
});
