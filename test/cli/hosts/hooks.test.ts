import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { parse } from "jsonc-parser";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { DEADLINES } from "../../../cli/hook/deadlines.ts";
import { hookFile } from "../../../cli/hosts/enforce.ts";
import { hookLines, planHooks, planRemoval } from "../../../cli/hosts/hook_plan.ts";
import { HOOKED_HOSTS } from "../../../server/hosts/hosts.ts";
import { createTerminal, type TestTerminal } from "../terminal.ts";
import { snapshot } from "./stage.ts";

type Json = Record<string, unknown>;

/** A command line of gate's in a file, up to the name of the host. */
const LINE = /GATE_PORT=\d+ (?:[^"\\]|\\.)*? hook /g;

describe.each(HOOKED_HOSTS.map(({ id }) => id))("the hooks of %s", (id) => {
  const host = HOOKED_HOSTS.find((one) => one.id === id)!;
  const { settings } = host.hooks;
  const takesComments = settings.format !== "json";
  let terminal: TestTerminal;
  let file: string;

  beforeEach(async () => {
    terminal = await createTerminal({ PATH: "/nonexistent" });
    file = hookFile(host, { os: "linux", home: terminal.folder, env: terminal.env }).path;
    mkdirSync(dirname(file), { recursive: true });
  });
  afterEach(() => terminal.close());

  const text = () => readFileSync(file, "utf8");
  const write = (content: string, mode = 0o640) => {
    writeFileSync(file, content);
    chmodSync(file, mode);
  };
  const sample = (hooks?: Json) =>
    `${JSON.stringify({ first: [1, 2], ...(hooks ? { hooks } : {}), last: "é" }, null, 4)}\n`;

  /** Runs with --dry-run, then for real, then again. Only the real run may write. */
  const run = async (...flags: string[]) => {
    const args = ["global-setup", "--host", id, ...flags];
    const known = existsSync(file) ? text() : "";
    await terminal.run(["global-setup", "--host", id]); // adds the MCP entry, so that later runs change only hooks
    if (known.includes("/old/place")) write(known);
    const before = snapshot(terminal.folder);
    const dry = await terminal.run([...args, "--dry-run"]);
    expect(snapshot(terminal.folder)).toEqual(before);
    const real = await terminal.run([...args, "--json"]);
    expect(dry.code).toBe(real.code);
    const done = snapshot(terminal.folder);
    const again = await terminal.run([...args, "--json"]);
    expect(snapshot(terminal.folder)).toEqual(done);
    const report = JSON.parse(real.stdout).hooks[0];
    const next = JSON.parse(again.stdout).hooks[0].outcome;
    expect(next).toBe(real.code ? "failed" : "unchanged");
    return { ...report, code: real.code, dry };
  };
  const install = () => run("--enforce");
  const remove = () => run("--no-enforce");

  /** Gate's hooks with their events, parsed as the host does. */
  const ours = (): [string, Json][] => {
    const { hooks = {} } = parse(text().replace(/^\uFEFF/, "")) as {
      hooks?: Record<string, Json[]>;
    };
    return Object.entries(hooks).flatMap(([event, list]) =>
      list.flatMap((one) => settings.is_grouped ? one.hooks as Json[] ?? [] : [one])
        .filter((one) => / hook [\w-]+$/.test(String(one.command ?? one.bash)))
        .map((one): [string, Json] => [event, one])
    );
  };

  const expectOurs = () => {
    expect(ours().map(([event]) => event).sort()).toEqual(
      settings.events.map(({ name }) => name).sort(),
    );
    for (const [event, hook] of ours()) {
      const isBefore = settings.events.find(({ name }) => name === event)!.is_before;
      const line = String(hook.command ?? hook.bash);
      expect(line).toMatch(new RegExp(`^GATE_PORT=\\d+ /.* hook ${id}$`));
      expect(line.includes("exit 2' gate /")).toBe(isBefore);
      const seconds = settings.timeout.unit === "ms" ? Number(hook.timeout) / 1000 : hook.timeout ??
        hook.timeoutSec;
      if (isBefore) expect(Number(seconds) * 1000).toBeGreaterThan(DEADLINES.refuse);
      if (isBefore && id === "claude-code") expect(hook.onFailure).toBe("block");
      if (isBefore && id === "cursor") expect(hook.failClosed).toBe(true);
    }
  };

  const foreign = (): Json => {
    const mine = { type: "command", command: "my-linter --fix", timeout: 5 };
    const [event] = settings.events;
    return {
      [event!.name]: [settings.is_grouped ? { matcher: "Bash", hooks: [mine] } : mine],
      SomethingElse: [mine],
    };
  };

  const expectRefused = async (why: RegExp) => {
    await terminal.run(["global-setup", "--host", id]);
    const before = text();
    const { code, outcome, problem, next } = await install();
    expect({ code, outcome }).toEqual({ code: 1, outcome: "failed" });
    expect(`${problem} ${next}`).toMatch(why);
    expect(text()).toBe(before);
  };

  test("an absent file is created, and --no-enforce removes the hooks", async () => {
    expect(await install()).toMatchObject({ code: 0, outcome: "added", file });
    expectOurs();
    expect(await remove()).toMatchObject({ code: 0, outcome: "removed" });
    if (existsSync(file)) expect(ours()).toEqual([]);
    if (id === "copilot-cli") expect(existsSync(file)).toBe(false);
  });

  test("global-setup --remove removes the hooks too", async () => {
    await install();
    const { code, stdout } = await terminal.run([
      "global-setup",
      "--host",
      id,
      "--remove",
      "--json",
    ]);
    const { hosts, hooks } = JSON.parse(stdout);
    expect({ code, entry: hosts[0].outcome, hooks: hooks[0].outcome }).toEqual({
      code: 0,
      entry: "removed",
      hooks: "removed",
    });
    if (existsSync(file)) expect(ours()).toEqual([]);
    expect(await terminal.run(["global-setup", "--remove", "--enforce"])).toMatchObject({
      code: 64,
    });
  });

  test("an empty file gets the hooks", async () => {
    write("");
    expect(await install()).toMatchObject({ code: 0, outcome: "added" });
    expectOurs();
  });

  test("other settings are kept, and removing the hooks restores the file", async () => {
    await terminal.run(["global-setup", "--host", id]);
    const before = existsSync(file) ? text() : null;
    if (before === null) write(sample());
    const was = text();
    await install();
    expectOurs();
    const reached = parse(text()) as Json;
    for (const [key, value] of Object.entries(parse(was) as Json)) {
      expect(reached[key]).toEqual(value);
    }
    await remove();
    const { version: _version, ...left } = parse(text()) as Json;
    expect(left).toEqual(parse(was));
    if (Object.keys(settings.frame).length === 0) expect(text()).toBe(was);
  });

  test("other programs' hooks are kept, and removing gate's restores every byte", async () => {
    write(sample({ ...foreign() }).replace('"first"', '"version": 1,\n    "first"'));
    await terminal.run(["global-setup", "--host", id]);
    const was = text();
    expect(await install()).toMatchObject({ outcome: "added" });
    expectOurs();
    expect(text().split("my-linter --fix")).toHaveLength(3);
    expect(statSync(file).mode & 0o777).toBe(0o640);
    const copies = readdirSync(join(terminal.folder, ".gate", "backups"));
    expect(copies.some((name) => name.includes(`${id}-hooks`))).toBe(true);
    await remove();
    expect(text()).toBe(was);
  });

  test("a file with one line keeps that form", async () => {
    write('{"version":1,"a":{"b":[1,2]}}');
    await install();
    expectOurs();
    if (!takesComments) expect(text()).not.toContain("\n");
    expect(text()).toContain('{"version":1,"a":{"b":[1,2]}');
  });

  test("comments are kept if the host's format allows them, else an error", async () => {
    const before = sample(foreign()).replace("{\n", "// mine\n{\n  /* and mine */\n");
    write(before);
    if (!takesComments) return await expectRefused(/line 1, column 1/);
    await install();
    expectOurs();
    expect(text()).toContain("// mine\n{\n  /* and mine */\n");
  });

  test("CRLF line endings and a BOM are kept", async () => {
    write(`\uFEFF${sample(foreign()).replaceAll("\n", "\r\n")}`);
    await install();
    expectOurs();
    expect(text()).not.toMatch(/[^\r]\n/);
    expect(text().lastIndexOf("\uFEFF")).toBe(0);
  });

  test("a symbolic link is kept, and its target is changed", async () => {
    mkdirSync(join(terminal.folder, "dotfiles"));
    const target = join(terminal.folder, "dotfiles", "hooks");
    writeFileSync(target, sample(foreign()));
    symlinkSync(target, file);
    await install();
    expect(lstatSync(file).isSymbolicLink()).toBe(true);
    expectOurs();
  });

  test("a read-only file is not changed, and the error suggests chmod", async () => {
    write(sample(foreign()), 0o440);
    await expectRefused(/read-only.*chmod u\+w/s);
  });

  test.each([
    ["syntax error", (before: string) => before.replace("[", "! ["), /Cannot read .* line [1-9]/],
    ["list in place of the hooks object", () => '{"hooks": []}\n', /hooks is no object/],
    [
      "number in place of an event's list",
      () => `{"hooks": {"${settings.events[0]!.name}": 3}}\n`,
      /is no list/,
    ],
  ])("a %s is an error, and the file is not changed", async (_name, spoil, why) => {
    write(spoil(sample(foreign())));
    await expectRefused(why);
  });

  test("outdated hooks get the new path and switches, and keep a longer time-out", async () => {
    await install();
    const now = text();
    const old = now.replaceAll(LINE, "/old/place/gate hook ")
      .replace(/"timeout(Sec)?": ?(300|300000)\b/, '"timeout$1": 999999')
      .replace(/,?\s*"(onFailure|failClosed)": ?("block"|true)/, "");
    write(old);
    expect(await install()).toMatchObject({ code: 0, outcome: "updated" });
    expectOurs();
    expect(text()).toContain("999999");
    expect(text()).not.toContain("/old/place");
  });

  test("global-setup replaces hooks that let tools run without gate, and doctor tells of them", async () => {
    await terminal.run(["global-setup", "--host", id, "--enforce"]);
    const now = text();
    const old = now.replaceAll(/\/bin\/sh -c '[^']*' gate /g, "");
    expect(old).not.toBe(now);
    write(old);
    const told = async () => {
      const { findings } = JSON.parse((await terminal.run(["doctor", "--json"])).stdout);
      return findings.filter(({ message }: { message: string }) =>
        message.startsWith(`${host.name}'s hooks are of an older gate`)
      );
    };
    expect(await told()).toMatchObject([
      { level: "problem", fix: `gate global-setup --enforce --host ${id}` },
    ]);
    const { code, stdout } = await terminal.run(["global-setup", "--json"]);
    const { hooks } = JSON.parse(stdout);
    expect({ code, hooks }).toMatchObject({ code: 0, hooks: [{ host: id, outcome: "updated" }] });
    expect(text()).toBe(now);
    expect(await told()).toEqual([]);
    expect(JSON.parse((await terminal.run(["global-setup", "--json"])).stdout).hooks).toBe(
      undefined,
    );
  });

  test("a narrowed matcher of gate's hook matches every tool again", async () => {
    await install();
    if (!settings.is_grouped) return expect(text()).not.toContain("matcher");
    write(text().replace('"matcher": "*"', '"matcher": "Bash"'));
    await install();
    const { hooks } = parse(text()) as { hooks: Record<string, Json[]> };
    const groups = hooks[settings.events[0]!.name]!;
    expect(groups.map(({ matcher }) => matcher)).toEqual(["*"]);
    expectOurs();
  });

  test("a host that is not installed is listed and skipped", async () => {
    const bare = await createTerminal({ PATH: "/nonexistent" });
    try {
      const { stdout, code } = await bare.run(["global-setup", "--enforce", "--json"]);
      expect(code).toBe(0);
      const report = JSON.parse(stdout).hooks.find((one: Json) => one.host === id);
      expect(report).toEqual({ host: id, outcome: "not_installed", file: null });
      expect(readdirSync(bare.folder)).toEqual(["project"]);
    } finally {
      await bare.close();
    }
  });

  test("gate init --enforce writes the hooks to the project's file", async () => {
    const project = join(terminal.folder, "project");
    const there = join(project, settings.project_file);
    const args = ["init", "--yes", "--platform", id];
    const made = await terminal.run([...args, "--enforce"]);
    expect(made).toMatchObject({ code: 0 });
    expect(made.stdout).toContain(there);
    file = there;
    expectOurs();
    expect((await terminal.run([...args, "--no-enforce"])).code).toBe(0);
    if (existsSync(there)) expect(ours()).toEqual([]);
  });

  test("global-setup --remove removes them from a project that waits for the daemon", async () => {
    const project = join(terminal.folder, "project");
    file = join(project, settings.project_file);
    await terminal.run(["init", "--yes", "--platform", id, "--enforce"]);
    expectOurs();
    const args = ["global-setup", "--host", id, "--remove", "--json"];
    const dry = await terminal.run([...args, "--dry-run"], { cwd: terminal.folder });
    expect(JSON.parse(dry.stdout).hooks).toContainEqual(
      expect.objectContaining({ host: id, outcome: "removed", file }),
    );
    expectOurs();
    const { code, stdout, stderr } = await terminal.run(args, { cwd: terminal.folder });
    expect(code).toBe(0);
    expect(JSON.parse(stdout).hooks).toContainEqual(
      expect.objectContaining({ host: id, outcome: "removed", file }),
    );
    expect(stderr).toContain("run in each: gate init --yes --no-enforce");
    if (existsSync(file)) expect(ours()).toEqual([]);
  });
});

test(
  "global-setup --remove removes the hooks of registered projects and of those hosts list",
  async () => {
    const terminal = await createTerminal({ PATH: "/nonexistent" });
    const [registered, listed] = ["project", "listed"].map((name) => join(terminal.folder, name));
    mkdirSync(listed!);
    const hooked = (root: string) => {
      const file = join(root, ".claude", "settings.local.json");
      return existsSync(file) && readFileSync(file, "utf8").includes("hook claude-code");
    };
    try {
      const args = ["init", "--yes", "--platform", "claude-code", "--enforce"];
      expect(await terminal.run(args, { cwd: listed! })).toMatchObject({ code: 0 });
      rmSync(join(terminal.folder, ".gate"), { recursive: true }); // forgets that project
      expect(await terminal.run(["daemon", "start"])).toMatchObject({ code: 0 });
      expect(await terminal.run(args, { cwd: registered! })).toMatchObject({ code: 0 });
      writeFileSync(
        join(terminal.folder, ".claude.json"),
        JSON.stringify({ projects: { [listed!]: {} } }),
      );
      expect([hooked(registered!), hooked(listed!)]).toEqual([true, true]);
      const removed = await terminal.run(["global-setup", "--remove"], { cwd: terminal.folder });
      expect(removed).toMatchObject({ code: 0, stderr: "" });
      expect([hooked(registered!), hooked(listed!)]).toEqual([false, false]);
    } finally {
      await terminal.run(["daemon", "stop"]);
      terminal.close();
    }
  },
  60_000,
);

describe("a host without hooks", () => {
  test("is listed with a next step if it is in use", async () => {
    const terminal = await createTerminal({ PATH: "/nonexistent" });
    try {
      mkdirSync(join(terminal.folder, ".config", "zed"), { recursive: true });
      const { stdout } = await terminal.run(["global-setup", "--enforce"]);
      expect(stdout).toMatch(/^no hooks +hooks of zed$/m);
      expect(stdout).toContain("switch those off in its settings");
      expect(stdout).not.toContain("hooks of windsurf");
      expect((await terminal.run(["global-setup"])).stdout).not.toContain("hooks of");
    } finally {
      await terminal.close();
    }
  });
});

test.each([
  ["codex", `C:\\gate.exe hook codex || exit 2`, `C:\\gate.exe hook codex`],
  ["qwen-code", `C:\\gate.exe hook qwen-code || exit 2`, `C:\\gate.exe hook qwen-code`],
  [
    "gemini-cli",
    `& C:\\gate.exe hook gemini-cli; if ($LASTEXITCODE -ne 0) { exit 2 }`,
    `& C:\\gate.exe hook gemini-cli`,
  ],
  ["claude-code", `C:\\gate.exe hook claude-code`, `C:\\gate.exe hook claude-code`],
])("on Windows the hook of %s before a tool fails closed", (id, before, after) => {
  const host = HOOKED_HOSTS.find((one) => one.id === id)!;
  const launch = { command: "C:\\gate.exe", args: ["mcp"], env: {} };
  const file = { path: "f", real: "f", text: null, has_bom: false, sha256: null };
  const made = planHooks(host, file, launch, { os: "win32" });
  const lines = hookLines(host, { ...file, text: made.after });
  const wanted = host.hooks.settings.events.map(({ is_before }) => is_before ? before : after);
  expect(lines).toEqual(wanted);
  const again = planHooks(host, { ...file, text: made.after }, launch, { os: "win32" });
  expect(again.outcome).toBe("unchanged");
  expect(planRemoval(host, { ...file, text: made.after }).outcome).toBe("removed");
});
