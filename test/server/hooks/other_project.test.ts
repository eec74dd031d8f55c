import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createTestGate, testCaller, type TestGate } from "../../helpers.ts";

const STRICT = {
  defaultEffect: "ask" as const,
  allowedCommands: ["ls", "echo"],
  blockedCommands: ["make"],
};

/** The agent's project with strict rules, and other registered projects beside it and inside it. */
async function open() {
  const gate = await createTestGate({ policies: STRICT, files: { "src/a.txt": "a" } });
  const outside = realpathSync(join(gate.root, ".."));
  const add = async (folder: string, id: string, policies: object) => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "gate.config.json"), JSON.stringify({ id, policies }));
    await gate.daemon.projects.register(folder, testCaller("reviewer"));
    return folder;
  };
  const lax = await add(join(outside, "lax"), "lax", { defaultEffect: "allow" });
  const nested = await add(join(gate.root, "nested"), "nested", { defaultEffect: "allow" });
  return { gate, lax, nested, outside, add };
}

interface Where {
  cwd: string;
  session?: string;
  project_dir?: string;
}

/** Sends a pre-tool-use hook of Claude Code for one shell command. */
async function hook(gate: TestGate, command: string, where: Where): Promise<string> {
  const { cwd, session = "s1", project_dir } = where;
  const more = project_dir === undefined ? "" : `&project_dir=${encodeURIComponent(project_dir)}`;
  const answer = await gate.request(
    "POST",
    `/api/hooks/claude-code?wait_ms=0${more}`,
    {
      hook_event_name: "PreToolUse",
      session_id: session,
      cwd,
      tool_name: "Bash",
      tool_input: { command },
      tool_use_id: `${Math.random()}`,
    },
    "agent",
  );
  expect(answer.status).toBe(200);
  const { hookSpecificOutput } = await answer.json();
  if (!hookSpecificOutput) return "allow";
  return /^Held/.test(hookSpecificOutput.permissionDecisionReason) ? "held" : "deny";
}

describe("a session belongs to the project that its host opened", () => {
  test("its own rules hold there, and the other project's own agent has its own", async () => {
    const { gate, lax } = await open();
    expect(await hook(gate, "ls", { cwd: gate.root })).toBe("allow");
    expect(await hook(gate, "true x", { cwd: gate.root })).toBe("held");
    expect(await hook(gate, "make", { cwd: gate.root })).toBe("deny");
    expect(await hook(gate, "make", { cwd: lax, session: "theirs" })).toBe("allow");
  });

  test.each<[string, (world: Awaited<ReturnType<typeof open>>) => Where]>([
    ["a later working folder in a laxer project", ({ lax }) => ({ cwd: lax })],
    ["a folder below it", ({ lax }) => {
      mkdirSync(join(lax, "deep"));
      return { cwd: join(lax, "deep") };
    }],
    ["a project folder that contradicts the first", ({ lax }) => ({ cwd: lax, project_dir: lax })],
    ["a link into it", ({ lax, outside }) => {
      symlinkSync(lax, join(outside, "link"));
      return { cwd: join(outside, "link") };
    }],
    ["a link inside the own project", ({ gate, lax }) => {
      symlinkSync(lax, join(gate.root, "src/lax"));
      return { cwd: join(gate.root, "src/lax") };
    }],
    ["a deleted folder below it", ({ lax }) => ({ cwd: join(lax, "gone/deep") })],
  ])("%s: both decide, and a person is asked", async (_, where) => {
    const world = await open();
    const { gate } = world;
    expect(await hook(gate, "ls", { cwd: gate.root })).toBe("allow");
    const there = where(world);
    expect(await hook(gate, "ls", there)).toBe("held");
    expect(await hook(gate, "true x", there)).toBe("held");
    expect(await hook(gate, "make", there)).toBe("deny");
    await gate.reopen();
    // The binding outlives the daemon.
    expect(await hook(gate, "ls", there)).toBe("held");
    const began = (await gate.audit()).filter(({ type, data }) =>
      type === "session.started" && data.project === "lax"
    );
    expect(began).toHaveLength(1);
    const { actions } = await gate.daemon.projects.get("lax");
    const { items } = await actions.list({});
    // The repeated call asks about the same held action.
    expect(items).toHaveLength(3);
    expect(items.at(-1)!.decision.rule).toMatchObject({ list: "other-project" });
  });

  test("a nested project is as strict as the one around it, whoever opened it", async () => {
    const { gate, nested } = await open();
    const there = { cwd: nested, session: "inner" };
    expect(await hook(gate, "make", there)).toBe("deny");
    expect(await hook(gate, "true x", there)).toBe("held");
    expect(await hook(gate, "ls", there)).toBe("allow");
    const view = await (await gate.request("GET", "/api/config?project=nested")).json();
    expect(view.warnings).toEqual([
      'the project is inside "test": the strictest of their rules apply',
    ]);
  });

  test("a project in a nested one meets the rules of all around it", async () => {
    const { gate, nested, add } = await open();
    const deep = await add(join(nested, "a/b"), "deep", {
      defaultEffect: "allow",
      blockedCommands: ["ls"],
    });
    const there = { cwd: deep, session: "deepest" };
    expect(await hook(gate, "make", there)).toBe("deny");
    expect(await hook(gate, "ls", there)).toBe("deny");
    expect(await hook(gate, "true x", there)).toBe("held");
  });

  test("an agent's own lax folder is registered with nothing allowed", async () => {
    const { gate, outside } = await open();
    const own = join(outside, "own");
    mkdirSync(own);
    const config = { id: "own", policies: { defaultEffect: "allow", blockedCommands: ["rm"] } };
    writeFileSync(join(own, "gate.config.json"), JSON.stringify(config));
    expect(await hook(gate, "true x", { cwd: own, session: "new" })).toBe("held");
    expect(await hook(gate, "rm a", { cwd: own, session: "new" })).toBe("deny");
  });

  test("a second folder of a project brings no config of its own", async () => {
    const { gate, outside } = await open();
    const git = (folder: string, text: string) => {
      mkdirSync(join(folder, ".git"), { recursive: true });
      writeFileSync(join(folder, ".git/config"), text);
    };
    git(gate.root, '[remote "origin"]\n\turl = x\n');
    const clone = join(outside, "clone");
    git(clone, '[remote "origin"]\n\turl = x\n');
    const config = { id: "test", policies: { defaultEffect: "allow" } };
    writeFileSync(join(clone, "gate.config.json"), JSON.stringify(config));
    expect(await hook(gate, "make", { cwd: clone, session: "clone" })).toBe("deny");
    expect(await hook(gate, "true x", { cwd: clone, session: "clone" })).toBe("held");
  });

  test("another folder takes no id over", async () => {
    const { gate, outside } = await open();
    const thief = join(outside, "thief");
    mkdirSync(thief);
    const config = { id: "test", policies: { defaultEffect: "allow" } };
    writeFileSync(join(thief, "gate.config.json"), JSON.stringify(config));
    expect(await hook(gate, "true x", { cwd: thief, session: "thief" })).toBe("deny");
    expect(await hook(gate, "true x", { cwd: gate.root })).toBe("held");
  });

  test("a session of one project cannot be used with an action in another", async () => {
    const { gate } = await open();
    const opened = await gate.request("POST", "/api/sessions?project=lax", {}, "agent");
    const { id } = await opened.json();
    const body = { tool: "run_command", input: { command: "make" }, session_id: id };
    const answer = await gate.request("POST", "/api/actions?project=test", body, "agent");
    expect(answer.status).toBe(404);
  });

  test("an unknown home is refused", async () => {
    const { gate } = await open();
    const body = { home_project: "nosuch" };
    const answer = await gate.request("POST", "/api/sessions?project=lax", body, "agent");
    expect(answer.status).toBe(404);
  });
});
