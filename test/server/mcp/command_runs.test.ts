import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTempFolder } from "../../temp_folder.ts";
import { type Agent, connectAgent, firstHeld, until } from "./agent.ts";

test("a command is run here once it is approved, and only once", async () => {
  const agent = await connectAgent();
  const marks = join(createTempFolder("run"), "marks");
  const command = `echo held >> ${marks}; sleep 0.2; echo $JAVA_HOME`;
  const answer = agent.call("run_command", { command });
  const id = await firstHeld(agent);
  const both = [agent.call("await_action", { action_id: id }), answer];
  agent.daemon.decide(id, { status: "approved", edited: true });
  for (const { body } of await Promise.all(both)) {
    expect(body).toMatchObject({ execution: "succeeded", exit_code: 0, output: "yes\n" });
  }
  expect(agent.daemon.claims).toEqual([id]);
  expect(readFileSync(marks, "utf8")).toBe("held\n");
  await agent.close();
});

test("a command outlasts the call that waits for it, and await_action brings its output", async () => {
  const agent = await connectAgent();
  const args = { command: "sleep 2; echo late", wait_ms: 1_000 };
  const { isError, body } = await agent.call("run_command", args);
  expect(isError).toBe(false);
  expect(body).toMatchObject({ execution: "running", next_tool: "await_action" });
  expect((await agent.call("await_action", { action_id: body.action_id })).body).toMatchObject({
    execution: "succeeded",
    output: "late\n",
  });
  await agent.close();
});

test("a daemon that was restarted may not know of a command that runs here: it is waited for", async () => {
  const agent = await connectAgent();
  const args = { command: "sleep 0.4; echo late", wait_ms: 50 };
  const { body } = await agent.call("run_command", args);
  const action_id = body.action_id as string;
  await until(() => agent.daemon.claims.includes(action_id), "it runs");
  agent.daemon.decide(action_id, { execution: "unknown" });
  expect((await agent.call("await_action", { action_id })).body).toMatchObject({
    execution: "succeeded",
    output: "late\n",
  });
  await agent.close();
});

test("a command that may not run any more says why", async () => {
  const agent = await connectAgent();
  const { body } = await agent.call("run_command", { command: "echo held", wait_ms: 10 });
  const action_id = body.action_id as string;
  agent.daemon.unclaimable = "its folder has gone";
  agent.daemon.decide(action_id, { status: "approved" });
  const answer = await agent.call("await_action", { action_id });
  expect(answer).toMatchObject({
    isError: true,
    body: { action_id, execution: "failed", error: "its folder has gone" },
  });
  await agent.close();
});

test("an output over the cap is cut, and the cut is told", async () => {
  const agent = await connectAgent();
  const { body } = await agent.call("run_command", { command: "seq 1 100000" });
  expect(body).toMatchObject({ exit_code: 0, truncated: true });
  expect(String(body.output)).toMatch(/^1\n2\n[^]*100000\n$/);
  expect(String(body.output).length).toBeLessThan(1_500);
  await agent.close();
});

test.each([
  ["the end of the input", (agent: Agent) => void agent.client.close()],
  ["a signal", (agent: Agent) => agent.stop.abort()],
])("%s kills what runs, as a group, and reports it", async (_, goAway) => {
  const agent = await connectAgent();
  const alive = join(createTempFolder("run"), "alive");
  const command = `(sleep 3; touch ${alive}) & touch ${alive}.started; sleep 30`;
  const { body } = await agent.call("run_command", { command, wait_ms: 100 });
  await until(() => existsSync(`${alive}.started`), "it runs");
  goAway(agent);
  if (!agent.stop.signal.aborted) await agent.close();
  await agent.ended;
  const action = agent.daemon.actions.get(body.action_id as string)!;
  expect(action).toMatchObject({ execution: "failed", exit_code: null });
  expect(action.error).toBeTruthy();
  expect(existsSync(alive)).toBe(false);
  expect(agent.daemon.sessions).toMatchObject([{ ended: true }]);
});

test("a command that somebody else runs is waited for, not run again", async () => {
  const agent = await connectAgent();
  const { body } = await agent.call("run_command", { command: "echo held", wait_ms: 10 });
  const action_id = body.action_id as string;
  agent.daemon.decide(action_id, { status: "approved", execution: "running" });
  const answer = agent.call("await_action", { action_id });
  await until(
    () => agent.daemon.calls.filter((call) => call.endsWith("/wait")).length > 2,
    "it waits",
  );
  agent.daemon.decide(action_id, {
    execution: "succeeded",
    exit_code: 0,
    result: { output: "elsewhere" },
  });
  expect((await answer).body).toMatchObject({ output: "elsewhere" });
  expect(agent.daemon.claims).toEqual([]);
  await agent.close();
});

const KEPT = {
  PATH: "/usr/bin:/bin",
  HOME: "/home/somebody",
  USER: "somebody",
  LANG: "C.UTF-8",
  LC_TIME: "de_DE.UTF-8",
  TZ: "UTC",
  TERM: "xterm",
  XDG_RUNTIME_DIR: "/run/user/1",
  SSH_AUTH_SOCK: "/run/agent",
  https_proxy: "http://proxy:1",
  NO_PROXY: "localhost",
  CI: "1",
  JAVA_HOME: "/opt/java",
  GOPATH: "/go",
  CARGO_HOME: "/cargo",
  VIRTUAL_ENV: "/venv",
  GIT_AUTHOR_NAME: "Somebody",
  GATE_PORT: "47001",
};

const DROPPED = [
  ...["LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "GCONV_PATH"],
  ...["BASH_ENV", "ENV", "BASH_FUNC_ls%%", "SHELLOPTS", "PS4", "PROMPT_COMMAND", "CDPATH", "IFS"],
  ...["NODE_OPTIONS", "NODE_PATH", "BUN_OPTIONS", "BUN_BE_BUN", "DENO_CERT", "PYTHONPATH"],
  ...["PYTHONSTARTUP", "PYTHONHOME", "PERL5OPT", "PERL5LIB", "RUBYOPT", "RUBYLIB", "CLASSPATH"],
  ...["JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "RUSTC_WRAPPER", "CARGO_BUILD_RUSTC", "GOFLAGS"],
  ...["GIT_DIR", "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_CONFIG_GLOBAL", "GIT_EXEC_PATH"],
  ...["GIT_CONFIG_PARAMETERS", "GIT_CONFIG_KEY_2", "GIT_PAGER", "GIT_EDITOR", "GIT_TEMPLATE_DIR"],
  ...["SSH_ASKPASS", "EDITOR", "VISUAL", "PAGER", "LESSOPEN", "BROWSER", "MAKEFLAGS"],
  ...["XDG_CONFIG_HOME", "npm_config_script_shell", "PIP_INDEX_URL", "KUBECONFIG", "LC_x"],
  ...["AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "DATABASE_URL", "UNKNOWN", ""],
];

test("a command gets the known variables of the agent's environment and no others", async () => {
  const dropped = Object.fromEntries(DROPPED.map((name) => [name, "/nowhere"]));
  const agent = await connectAgent({ env: { ...KEPT, ...dropped } });
  const { body } = await agent.call("run_command", {
    command: "env -0 | sort -z | tr '\\0' '\\n'",
  });
  const seen = Object.fromEntries(
    String(body.output).trim().split("\n").map((line) => line.split(/=(.*)/s).slice(0, 2)),
  );
  expect(seen).toMatchObject(KEPT);
  const { PWD: _, OLDPWD: __, SHLVL: ___, _: ____, ...others } = seen;
  expect(Object.keys(others).filter((name) => !Object.hasOwn(KEPT, name)).sort()).toEqual([
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_KEY_0",
    "GIT_CONFIG_KEY_1",
    "GIT_CONFIG_VALUE_0",
    "GIT_CONFIG_VALUE_1",
  ]);
  await agent.close();
});

test("git starts no monitor and takes no folder for a bare repository", async () => {
  const mark = join(createTempFolder("run"), "mark");
  const agent = await connectAgent();
  const git = (...args: string[]) => execFileSync("git", args, { cwd: agent.folder });
  git("init", "--quiet");
  git("config", "core.fsmonitor", `touch ${mark}; false`);
  const bare = join(agent.folder, "docs");
  mkdirSync(bare);
  git("init", "--quiet", "--bare", bare);
  git("-C", bare, "config", "core.bare", "false");
  git("-C", bare, "config", "core.worktree", agent.folder);
  git("-C", bare, "config", "core.fsmonitor", `touch ${mark}; false`);
  git("status"); // the trap works
  expect(existsSync(mark)).toBe(true);
  const clean = `rm ${mark}; cd ${agent.folder} && git status --short; ls ${mark}`;
  expect((await agent.call("run_command", { command: clean })).body.output).toContain(
    "No such file",
  );
  const planted = await agent.call("run_command", { command: `cd ${bare} && git status --short` });
  expect(planted.body).toMatchObject({
    exit_code: 128,
    output: expect.stringContaining("safe.bareRepository"),
  });
  expect(existsSync(mark)).toBe(false);
  await agent.close();
});
