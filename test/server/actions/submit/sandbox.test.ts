import { describe, expect, test } from "vitest";
import type { Action, ActionDetail } from "../../../../server/actions/schema.ts";
import { checkShown } from "../../../../server/actions/show/check_shown.ts";
import { describeSandbox } from "../../../../server/actions/show/sandbox_text.ts";
import { policyTemplate } from "../../../../server/policy/templates.ts";
import type { Policies, PolicyTestResult } from "../../../../server/policy/schema.ts";
import { openStage } from "../../grants/stage.ts";
import { testCaller } from "../../../helpers.ts";
import { openHooks, SPEAK } from "../../hooks/stage.ts";

const ENGINE = {
  name: "bubblewrap" as const,
  path: "/usr/bin/bwrap",
  version: "1",
  can_mask: true,
};
const BALANCED = policyTemplate("balanced");

/** A gate on a machine that can sandbox commands. Nothing is run in these tests. */
async function open(policies: Policies = BALANCED) {
  const stage = await openStage({ policies });
  stage.gate.environment.sandbox = () => Promise.resolve(ENGINE);
  const detail = async ({ id }: Action) =>
    (await stage.call<ActionDetail>("GET", `/api/actions/${id}`)).body;
  const leave = (command: string, reason = "it needs the network", session_id?: string) =>
    stage.submit("run_command", { command, outside_sandbox: true, reason }, session_id);
  return { ...stage, detail, leave };
}

const SANDBOX = { engine: "bubblewrap", network: "loopback" };

describe("a command that the sandbox holds", () => {
  test("is approved, and its record, its events and its card say so", async () => {
    const { gate, run, detail } = await open();
    const action = await run("pytest -q");
    expect(action).toMatchObject({
      ...{ status: "approved", decided_by: "policy" },
      decision: { effect: "allow", rule: { list: "sandbox", source: "builtin" }, sandbox: SANDBOX },
    });
    const seen = await detail(action);
    expect(seen.decision).toEqual(action.decision);
    expect(seen.decision.sandbox!.writable).toEqual([gate.root]);
    const told = (await gate.audit()).filter(({ action_id }) => action_id === action.id);
    expect(told.map(({ type, data }) => [type, data.sandbox])).toEqual([
      ["action.submitted", action.decision.sandbox],
      ["action.approved", action.decision.sandbox],
    ]);
  });

  test("is held as before on a machine without an engine", async () => {
    const { gate, run } = await open();
    delete gate.environment.sandbox;
    expect(await run("pytest -q")).toMatchObject({
      status: "pending",
      decision: { sandbox: null },
    });
  });

  test("a host's own shell is judged as if there were no engine", async () => {
    const { gate, post, actions } = await openHooks("claude-code", { policies: BALANCED });
    gate.environment.sandbox = () => Promise.resolve(ENGINE);
    const speak = SPEAK["claude-code"]!;
    const ask = async (command: string, key: string) => {
      await post(speak.before(speak.command, { command }, { cwd: gate.root, key }));
    };
    await ask("pytest -q", "a");
    await ask("ls", "b");
    expect((await actions()).map(({ status, decision }) => [status, decision.sandbox])).toEqual([
      ["approved", null],
      ["pending", null],
    ]);
  });

  test("a file of another project is not in the sandbox", async () => {
    const { gate, run } = await open();
    const other = gate.write("inner/gate.config.json", '{"id": "inner"}');
    const folder = other.slice(0, other.lastIndexOf("/"));
    expect(await run("pytest inner/a.txt")).toMatchObject({ status: "approved" });
    await gate.daemon.projects.register(folder, testCaller("reviewer"));
    const submit = async (command: string) => {
      const body = { tool: "run_command", input: { command } };
      const answer = await gate.request("POST", "/api/actions?project=test", body, "agent");
      return await answer.json();
    };
    expect(await submit("pytest inner/a.txt")).toMatchObject({ status: "pending" });
    expect(await submit("pytest a.txt")).toMatchObject({ status: "approved" });
  });
});

describe("outside_sandbox", () => {
  test("holds the command; the card, the event and the digest have the reason", async () => {
    const { gate, run, leave, detail } = await open();
    const inside = await run("pytest -q");
    const action = await leave("pytest -q");
    expect(action).toMatchObject({ status: "pending", decision: { effect: "ask", sandbox: null } });
    const seen = await detail(action);
    expect(seen.outside).toEqual({
      reason: "it needs the network",
      earlier: {
        ...{ action_id: inside.id, execution: "none", error: null },
        sandbox: inside.decision.sandbox,
        met: [],
      },
    });
    expect(seen.signed).toMatchObject({ outside_because: "it needs the network" });
    await checkShown(seen);
    const forged = { ...seen, outside: { ...seen.outside!, reason: "it is harmless" } };
    await expect(checkShown(forged)).rejects.toThrow("the shown reason");
    await expect(checkShown({ ...seen, outside: null })).rejects.toThrow("the shown reason");
    const other = await leave("pytest -q", "it needs my keys");
    expect(other.digest).not.toBe(action.digest);
    expect((await gate.audit()).find(({ action_id }) => action_id === action.id)!.data)
      .toMatchObject({ outside_because: "it needs the network" });
  });

  test("what a person approves runs outside", async () => {
    const { leave, approve, call } = await open();
    const { id } = await leave("pytest -q");
    expect((await approve(id)).body).toMatchObject({ status: "approved" });
    const claimed = await call<{ walls: unknown }>("POST", `/api/actions/${id}/claim`, {}, "agent");
    expect(claimed).toMatchObject({ status: 200, body: { walls: null } });
  });

  test("a person opens it for the session or the project", async () => {
    const { leave, run, remember } = await open();
    const grant = await remember(await leave("pytest -q"));
    const decision = { effect: "allow", grant_id: grant.id, sandbox: null };
    expect(await leave("pytest -q")).toMatchObject({ status: "approved", decision });
    expect(await leave("pytest -q", "another reason")).toMatchObject({ status: "pending" });
    // Without the wish to leave, it stays inside.
    expect(await run("pytest -q")).toMatchObject({ decision: { sandbox: SANDBOX } });
  });

  test.each<[object, string]>([
    [{ outside_sandbox: true }, "go together"],
    [{ reason: "x" }, "go together"],
    [{ outside_sandbox: true, reason: "  " }, "reason"],
    [{ outside_sandbox: "yes", reason: "x" }, "outside_sandbox"],
    [{ outside_sandbox: true, reason: "x".repeat(1_001) }, "reason"],
  ])("%j is refused", async (more, why) => {
    const { call } = await open();
    const body = { tool: "run_command", input: { command: "pytest", ...more } };
    const answer = await call("POST", "/api/actions", body, "agent");
    expect(answer).toMatchObject({ status: 400, body: { code: "invalid" } });
    expect(JSON.stringify(answer.body)).toContain(why);
  });

  test("a command that its text alone allows needs no answer", async () => {
    const { leave } = await open();
    expect(await leave("ls")).toMatchObject({ status: "approved", decision: { sandbox: null } });
  });
});

describe("always", () => {
  const ALWAYS: Policies = { ...BALANCED, sandbox: { mode: "always" } };

  test("what is held names its sandbox in the digest; allowed commands run in it", async () => {
    const { run, detail, leave } = await open(ALWAYS);
    expect(await run("ls")).toMatchObject({ status: "approved", decision: { sandbox: SANDBOX } });
    const held = await detail(await run("npm publish"));
    expect(held).toMatchObject({ status: "pending", decision: { sandbox: SANDBOX } });
    expect(held.signed!.sandbox).toEqual(held.decision.sandbox);
    await checkShown(held);
    const bare = { ...held, decision: { ...held.decision, sandbox: null } };
    await expect(checkShown(bare)).rejects.toThrow("the shown sandbox");
    expect(await leave("ls")).toMatchObject({ status: "pending", decision: { sandbox: null } });
  });

  test("without an engine every command waits for a person", async () => {
    const { gate, run } = await open(ALWAYS);
    delete gate.environment.sandbox;
    expect(await run("ls")).toMatchObject({
      status: "pending",
      decision: { rule: { list: "sandbox" }, sandbox: null },
    });
  });
});

test("a decision that an older release recorded has no sandbox", async () => {
  const { gate, run, detail } = await open();
  const action = await run("ls");
  const { sandbox: _, ...older } = action.decision;
  await gate.project.ledger.commit({
    statements: [{
      sql: "UPDATE actions SET decision = ? WHERE id = ?",
      args: [JSON.stringify(older), action.id],
    }],
    events: [],
  });
  expect((await detail(action)).decision).toEqual({ ...older, sandbox: null });
});

test("a test of the policy says where its answer holds, or why not, and can leave it out", async () => {
  const { call } = await open();
  const ask = async (command: string, more: object = {}) =>
    (await call<PolicyTestResult>("POST", "/api/policy/test", { command, ...more })).body;
  expect(await ask("pytest")).toMatchObject({
    ...{ effect: "allow", sandbox: SANDBOX, sandbox_refused: null },
  });
  expect(await ask("pytest", { sandbox: false })).toMatchObject({
    ...{ effect: "ask", sandbox: null, sandbox_refused: null },
  });
  expect(await ask("npm publish")).toMatchObject({
    ...{ effect: "ask", sandbox: null },
    sandbox_refused: '"npm publish" acts on another machine or a server',
  });
});

const some = { engine: "bubblewrap", writable: ["/p"] };
test.each(
  [
    [{ network: "none", masked: ["~"] }, "no network; your home folder is hidden"],
    [
      { network: "loopback", masked: [".env", "~"] },
      "no network; .env and your home folder are hidden",
    ],
    [
      { network: "loopback", masked: [".env", "a", "b", "~"] },
      "no network; .env, 2 other names and your home folder are hidden",
    ],
    [
      { network: "all", masked: [".env", "and 41 more"] },
      "with the network; .env and 41 other names are hidden",
    ],
    [
      { network: "none", masked: [".env"], hosts: ["a.test"] },
      "no network but a.test; .env is hidden",
    ],
    [{ network: "none", masked: [] }, "no network"],
  ] as const,
)("a person reads %j as %s", (sandbox, text) => {
  const { masked, hosts = [] } = sandbox as {
    masked: readonly string[];
    hosts?: readonly string[];
  };
  const whole = { ...some, ...sandbox, masked: [...masked], hosts: [...hosts] };
  expect(describeSandbox(whole)).toBe(text);
});
