import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openConnection } from "../../../cli/daemon/connect.ts";
import { type GatedProject, openGatedProject } from "../gated_project.ts";

const PASSPHRASE = "correct horse battery";

let gated: GatedProject;
beforeEach(async () => {
  gated = await openGatedProject("none");
  expect(await given(PASSPHRASE, "proof", "set")).toMatchObject({ code: 0 });
});
afterEach(() => gated.close());

function given(passphrase: string, ...args: string[]) {
  return gated.terminal.run([...args, "--passphrase-stdin"], { input: `${passphrase}\n` });
}

/** Sends a call of a host's own tool, and returns the host's answer. */
async function hook(command: string) {
  const around = { env: gated.terminal.env, cwd: gated.folder, pid: 1 };
  const { url, fetch, token } = await openConnection(around, { scope: "agent" });
  const call = { session_id: "s", cwd: gated.folder, hook_event_name: "PreToolUse" };
  const body = JSON.stringify({ ...call, tool_name: "Bash", tool_input: { command } });
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const post = { method: "POST", headers, body };
  return await (await fetch(`${url}/api/hooks/claude-code?wait_ms=0`, post)).json();
}

test("the status names a session once that is blocked twice for the same reason", async () => {
  expect(await hook("ls")).toEqual({});
  const config = join(gated.folder, "gate.config.json");
  const text = readFileSync(config, "utf8");
  for (const change of ["\n", "\n\n"]) {
    writeFileSync(config, text + change);
    expect(JSON.stringify(await hook("ls"))).toContain("Blocked by gate");
  }
  const blocks = await gated.json("session", "blocks", "--json");
  expect(blocks.length).toBeGreaterThan(1);
  expect((await gated.good("status")).stdout.match(/is blocked/g)).toHaveLength(1);
});

test("a lost state of the guarded files is told, and only the passphrase lifts its block", async () => {
  expect(await hook("ls")).toEqual({});
  await gated.good("daemon", "stop");
  const kept = join(gated.terminal.folder, ".gate", "guarding");
  expect(readdirSync(kept).length).toBeGreaterThan(0);
  for (const name of readdirSync(kept)) rmSync(join(kept, name));
  await gated.good("daemon", "start");

  expect(JSON.stringify(await hook("ls"))).toContain("Blocked by gate");
  const [block] = await gated.json("session", "blocks", "--json");
  expect(block.reason).toMatch(/state of the guarded files .* was deleted or changed meanwhile/);
  const status = (await gated.good("status")).stdout;
  expect(status).toContain(`! Session ${block.session_id} is blocked: ${block.reason}`);
  const { findings } = await gated.json("doctor", "--json");
  expect(findings).toContainEqual({
    check: "blocks",
    level: "warning",
    message: `a session of "web" is blocked: ${block.reason}`,
    fix: expect.stringContaining(`gate session unblock ${block.session_id} --project web`),
    repair: { kind: "page", page: "remediation", project: "web" },
  });

  const unblock = ["session", "unblock", block.session_id];
  const unproved = await gated.terminal.run(unblock);
  expect(unproved).toMatchObject({ code: 64, stdout: "" });
  expect(await given("not the passphrase", ...unblock)).toMatchObject({ code: 1, stdout: "" });
  const token = await gated.terminal.run(
    ["api", "POST", `/api/remediation/blocks/${block.id}/unblock`, "-d", "{}"],
  );
  expect(token).toMatchObject({ code: 64, stdout: "" });
  expect(JSON.stringify(await hook("ls"))).toContain("Blocked by gate");

  expect(await given(PASSPHRASE, ...unblock)).toMatchObject({ code: 0 });
  expect(await hook("ls")).toEqual({});
  const { events } = await gated.json("api", "GET", "/api/audit/export?format=json&project=web");
  expect(events.filter(({ type }: { type: string }) => type === "block.removed")).toMatchObject([{
    actor: { kind: "reviewer", id: "reviewer" },
    data: { block_id: block.id, proof: { kind: "passphrase", challenge: { verb: "lift_block" } } },
  }]);
  await gated.good("audit", "verify");
  expect((await gated.good("status")).stdout).not.toContain("is blocked");
});

test("a reached quota and the block of an agent are told by status and doctor", async () => {
  const config = join(gated.folder, "gate.config.json");
  const { policies, ...rest } = JSON.parse(readFileSync(config, "utf8"));
  const limits = { maxRefusedBytesPerSession: 65_536, maxDenialsPerAgent: 12 };
  const json = { ...rest, policies: { ...policies, ...limits } };
  writeFileSync(config, JSON.stringify(json));
  const post = async () => {
    const body = JSON.stringify({ tool: "write_file", input: { path: ".env", content: "x" } });
    const around = { env: gated.terminal.env, cwd: gated.folder, pid: 1 };
    const { url, fetch, token } = await openConnection(around, { scope: "agent" });
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    return (await fetch(`${url}/api/actions`, { method: "POST", headers, body })).status;
  };
  const statuses = [];
  for (let n = 0; n < 80; n++) statuses.push(await post());
  expect(statuses).toContain(429);
  const status = (await gated.good("status")).stdout;
  expect(status).toContain("! An agent has reached the quota maxRefusedBytesPerSession of 65536");
  const { findings } = await gated.json("doctor", "--json");
  expect(findings).toContainEqual({
    check: "quotas",
    level: "warning",
    message: expect.stringContaining("reached the quota maxRefusedBytesPerSession of 65536"),
    fix: "gate session list --project web",
    repair: { kind: "page", page: "sessions", project: "web" },
  });
  expect(status).toContain('Every session of the agent "agent" is blocked');
  expect(status).toContain("gate session unblock agent");
  expect(await given(PASSPHRASE, "session", "unblock", "agent")).toMatchObject({ code: 0 });
  expect((await gated.good("status")).stdout).not.toContain("is blocked");
});
