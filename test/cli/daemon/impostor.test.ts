import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, expect, test } from "vitest";
import { VERSION } from "../../../server/constants.ts";
import { identify } from "../../../server/runtime/processes.ts";
import { askHook } from "../../e2e/hook.ts";
import { must, until, World } from "../../e2e/world.ts";
import { Impostor } from "../../impostor.ts";

let world: World;
beforeEach(async () => {
  world = await World.create("Deno" in globalThis ? "deno" : "node");
});
afterEach(() => world.close());

const SCOPES = ["agent", "viewer", "reviewer"];
const HOOK = {
  hook_event_name: "PreToolUse",
  session_id: "s",
  tool_name: "Bash",
  tool_input: { command: "echo hi" },
};

/** The tokens, read from their files. */
function tokens(home: string): string[] {
  return SCOPES.map((scope) => readFileSync(join(home, "tokens", scope), "utf8").trim());
}

/** Listens as soon as the system has released the port of the dead daemon. */
function takePort(): Promise<Impostor> {
  return until("the port is free", () => Impostor.listen(world.port).catch(() => null));
}

test("whoever takes the port of a dead daemon gets no token and no request", async () => {
  await world.init();
  await world.kill(await world.daemonPid());
  const impostor = await takePort();
  try {
    for (
      const args of [["pending"], ["status"], ["dashboard", "--no-open"], ["api", "GET", "/x"]]
    ) {
      expect((await world.run(args)).code, args.join(" ")).not.toBe(0);
    }
    expect(must(await world.run(["prompt"])).stdout).toBe("");
    const { reason } = await askHook(world, "claude-code", { ...HOOK, cwd: world.project });
    expect(reason).toContain(`listen on port ${world.port}`);
    const mcp = await world.run(["mcp"], { input: "" });
    expect(mcp.stdout).toBe("");
    for (const token of tokens(world.gateHome)) expect(impostor.heard).not.toContain(token);
    expect(impostor.lines.filter((line) => line !== "GET /healthz")).toEqual([]);
  } finally {
    await impostor.close();
  }
});

test("where only a port is there, the daemon proves itself before a token is sent", async () => {
  // The path of a socket has a limit, so a daemon with a long home has none.
  const home = join(world.home, "h".repeat(120));
  world.env.GATE_HOME = home;
  await world.init();
  expect(await world.json(["api", "GET", "/api/daemon/status"])).toMatchObject({
    port: world.port,
  });
  expect((await askHook(world, "claude-code", { ...HOOK, cwd: world.project })).output).toEqual({});
  await world.kill(await world.daemonPid());

  // An impostor that can also write daemon.json, and answers everything with 200.
  const impostor = await takePort();
  const noted = { port: world.port, version: VERSION, started_at: "", socket: null };
  writeFileSync(
    join(home, "daemon.json"),
    JSON.stringify({ ...identify(process.pid), ...noted }),
  );
  try {
    for (const args of [["pending"], ["status"], ["api", "POST", "/api/auth/login-code"]]) {
      const { code, stderr } = await world.run(args);
      expect([code, stderr], args.join(" ")).toEqual([
        1,
        expect.stringContaining("did not prove that it is your daemon"),
      ]);
    }
    expect(must(await world.run(["prompt"])).stdout).toBe("");
    const { reason } = await askHook(world, "claude-code", { ...HOOK, cwd: world.project });
    expect(reason).toContain("did not prove that it is your daemon");
    expect(new Set(impostor.lines)).toEqual(
      new Set(["GET /healthz", "POST /api/auth/prove-daemon"]),
    );
    expect(impostor.heard.toLowerCase()).not.toContain("authorization");
    for (const token of tokens(home)) expect(impostor.heard).not.toContain(token);
  } finally {
    await impostor.close();
    // daemon.json names this process, which "gate daemon stop" would end.
    writeFileSync(join(home, "daemon.json"), "{}");
  }
});
