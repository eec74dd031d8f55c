import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findEngine } from "../../server/sandbox/engine.ts";
import { must, until, World } from "./world.ts";

const ENGINE = await findEngine({ confine: null });
if (ENGINE === null) {
  console.error("NOT RUN: no sandbox engine here, so no host's command ran in a sandbox");
}

describe.runIf(ENGINE !== null)("a host's shell behind `gate hook`, on the executable", () => {
  let world: World;
  let count = 0;
  const server = createServer((_, answer) => answer.end("SERVED"));
  let port = 0;

  beforeAll(async () => {
    world = await World.create("executable");
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    port = (server.address() as AddressInfo).port;
    await world.init({
      defaultEffect: "ask",
      blockedPaths: ["secret.txt"],
      allowedCommands: ["echo"],
      sandbox: { mode: "auto", hosts: [`127.0.0.1:${port}`] },
    });
    world.write("secret.txt", "S3CRET\n");
    world.write("sub dir/own.sh", "pwd; cat; echo told >&2; exit 7\n");
    world.write("wait.sh", "echo begun > begun.txt; sleep 600 & wait\n");
    world.write("quote.sh", 'printf "%s|" "$@"; cat ../secret.txt secret.txt\n');
    const answer = await hook("echo first");
    const { stdout } = await sh(answer!);
    expect(stdout).toBe("first\n");
  });
  afterAll(async () => {
    server.close();
    await world?.close();
  });

  /** The text that the host runs in the place of this command; undefined if it runs as it is. */
  async function hook(command: string, cwd = world.project): Promise<string | undefined> {
    const input = JSON.stringify({
      ...{ session_id: "s", cwd, hook_event_name: "PreToolUse", tool_name: "Bash" },
      ...{ permission_mode: "bypassPermissions", tool_use_id: `k${++count}` },
      tool_input: { command },
    });
    const { stdout } = must(await world.run(["hook", "claude-code"], { input }));
    return JSON.parse(stdout).hookSpecificOutput?.updatedInput?.command;
  }

  const start = (line: string, cwd = "/"): ChildProcess =>
    spawn("/bin/sh", ["-c", line], { cwd, env: { PATH: world.env.PATH! }, stdio: "pipe" });

  /** Runs a line as a host's shell does, from another folder and without gate's variables. */
  async function sh(line: string, input = "") {
    const child = start(line);
    const output = { stdout: "", stderr: "" };
    child.stdout!.on("data", (chunk) => output.stdout += chunk);
    child.stderr!.on("data", (chunk) => output.stderr += chunk);
    child.stdin!.on("error", () => {});
    child.stdin!.end(input);
    const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
    return { code, ...output };
  }
  const newest = async () => (await world.api("GET", "/api/actions")).body.items[0];

  test("passes input, both outputs and the exit code on, in the folder that was judged", async () => {
    const line = await hook("bash own.sh", join(world.project, "sub dir"));
    const { code, stdout, stderr } = await sh(line!, "given\n");
    expect(stdout).toBe(`${join(world.project, "sub dir")}\ngiven\n`);
    expect([code, stderr]).toEqual([7, "told\n"]);
    expect(await newest()).toMatchObject({
      ...{ command: "bash own.sh", execution: "failed", exit_code: 7 },
      decision: { sandbox: { engine: "bubblewrap" } },
    });
  });

  test("runs once: the same line again runs nothing", async () => {
    const line = await hook("bash own.sh", join(world.project, "sub dir"));
    expect((await sh(line!)).code).toBe(7);
    const again = await sh(line!);
    expect(again).toMatchObject({ code: 126, stdout: "" });
    expect(again.stderr).toContain("each command runs once");
  });

  test("an agent's own ticket runs nothing", async () => {
    const made = await sh(
      (await hook("bash own.sh", join(world.project, "sub dir")))!
        .replace(/[\w-]{36}$/, "00000000-0000-4000-8000-000000000000"),
    );
    expect(made).toMatchObject({ code: 126, stdout: "" });
  });

  test.each([
    'bash quote.sh "\'; cat secret.txt #"',
    "bash quote.sh '\"$(cat secret.txt)\"'",
    "bash quote.sh $'\\'' 'a\nb'; cat s*.txt",
    "bash quote.sh a && bash -c 'cat s''ecret.txt' || bash wait.sh &",
  ])("quotes lead nowhere: %j", async (command) => {
    const line = await hook(command);
    if (line === undefined) return expect((await newest()).status).not.toBe("approved");
    const { stdout, stderr } = await sh(line);
    expect(stdout + stderr).not.toContain("S3CRET");
  });

  test("the record tells which hosts it asked for", async () => {
    const code = [
      "import os, urllib.request as r",
      "for name in ('no_proxy', 'NO_PROXY'): os.environ.pop(name, 0)",
      `for url in ('http://127.0.0.1:${port}/', 'http://closed.test/'):`,
      "  try: print(r.urlopen(url).read())",
      "  except Exception as error: print(error)",
    ].join("\n");
    world.write("fetch.py", code);
    const { stdout, stderr } = await sh((await hook("python3 fetch.py"))!);
    expect(stdout).toBe("b'SERVED'\nHTTP Error 403: Forbidden\n");
    expect(stderr).toContain("closed.test");
    const { id, execution } = await newest();
    expect(execution).toBe("succeeded");
    const { body } = await world.api("GET", `/api/actions/${id}`);
    const finished = body.timeline.find(({ type }: { type: string }) => type === "action.finished");
    expect(finished.data.asked_hosts).toMatchObject([
      { host: "127.0.0.1", port, answer: "connected" },
      { host: "closed.test", port: 80, answer: "refused" },
    ]);
  });

  test("ends all of its processes when the host ends it", async () => {
    const child = start(`exec env ${await hook("bash wait.sh")}`);
    await until("it runs", () => existsSync(join(world.project, "begun.txt")) || undefined);
    const ended = new Promise((resolve) => child.on("close", resolve));
    child.kill("SIGTERM");
    await ended;
    const action = await until("it is reported", async () => {
      const action = await newest();
      return action.execution === "running" ? undefined : action;
    });
    expect(action).toMatchObject({ execution: "failed", command: "bash wait.sh" });
    expect(sleepers()).toEqual([]);
  });

  test("another daemon that the agent names is not asked", async () => {
    const line = await hook("bash own.sh", join(world.project, "sub dir"));
    const fake = join(world.folder, "fake");
    const { code } = await sh(
      `GATE_HOME=${fake}; GATE_PORT=1; export GATE_HOME GATE_PORT; ${line}`,
    );
    expect(code).toBe(7);
  });

  test("a stricter policy stops it before it starts", async () => {
    const line = await hook("bash own.sh", join(world.project, "sub dir"));
    const config = join(world.project, "gate.config.json");
    const text = readFileSync(config, "utf8");
    const said = JSON.parse(text);
    said.policies.blockedCommands = ["bash"];
    writeFileSync(config, JSON.stringify(said));
    const { code, stdout, stderr } = await sh(line!);
    writeFileSync(config, text);
    expect([code, stdout]).toEqual([126, ""]);
    expect(stderr).toContain("gate: ");
  });
});

/** The commands `sleep 600` that still run. */
function sleepers(): string[] {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8") === "sleep\x00600\x00";
    } catch {
      return false;
    }
  });
}
