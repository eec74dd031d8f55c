import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { testCaller } from "../../helpers.ts";
import { openHooks, SPEAK } from "./stage.ts";

const reviewer = testCaller("reviewer");
const HOSTS = Object.keys(SPEAK);
const POLICIES = {
  defaultEffect: "ask" as const,
  allowedPaths: ["src/**"],
  blockedPaths: [{ pattern: ".env", reason: "secrets stay", alternative: "write .env.example" }],
  allowedCommands: ["echo"],
  blockedCommands: [{ pattern: "rm -rf", reason: "no" }],
};

describe.each(HOSTS)("%s", (host) => {
  const speak = SPEAK[host]!;
  const [writer, writing] = speak.write;

  const open = async () => {
    const { gate, post, actions } = await openHooks(host, { policies: POLICIES });
    const at = (key: string, session?: string) => ({ cwd: gate.root, key, session });
    return {
      gate,
      actions,
      before: (tool: string, input: Record<string, unknown>, key = "k-1", query?: string) =>
        post(speak.before(tool, input, at(key)), query),
      after: (tool: string, input: Record<string, unknown>, key = "k-1") =>
        post(speak.after(tool, input, at(key))),
      path: (name: string) => join(gate.root, name),
    };
  };

  test("a command that policy allows goes on, and what came of it is recorded", async () => {
    const { gate, before, after, actions } = await open();
    // The answer comes at once, although the request allows a long wait.
    const wait = "wait_ms=300000";
    expect(await before(speak.command, { command: "echo hi" }, "k-1", wait)).toMatchObject({
      status: 200,
      output: {},
      held: null,
    });
    const [running] = await actions();
    expect(running).toMatchObject({
      tool: speak.command,
      command: "echo hi",
      agent: host,
      cwd: gate.root,
      status: "approved",
      decided_by: "policy",
      execution: "running",
    });
    expect((await after(speak.command, { command: "echo hi" })).output).toEqual({});
    const [done] = await actions();
    expect(done).toMatchObject({ execution: "succeeded", error: null });
    const { output } = await gate.project.actions.detail(done!.id);
    expect(output?.text).toContain("said");
    const types = (await gate.audit()).filter(({ action_id }) => action_id === done!.id)
      .map(({ type }) => type);
    const road = ["action.submitted", "action.approved", "action.started", "action.finished"];
    expect(types).toEqual(road);
    const [session] = (await gate.project.sessions.list({})).items;
    expect(session).toMatchObject({ host, agent: host, client: "hook s-1", root: gate.root });
  });

  test("what policy blocks is refused with the rule, the reason and the alternative", async () => {
    const { before, actions, path } = await open();
    const { output } = await before(writer, writing(path(".env"), "S=1"));
    const reason = speak.reason(output);
    for (const part of ["secrets stay", '".env"', "blockedPaths", "write .env.example"]) {
      expect(reason).toContain(part);
    }
    const [blocked] = await actions();
    expect(reason).toContain(blocked!.id);
    expect(blocked).toMatchObject({ status: "blocked", path: ".env", execution: "none" });
    const command = await before(speak.command, { command: "cd / && rm -fr ." });
    expect(speak.reason(command.output)).toContain("Blocked by gate");
  });

  test("held: refused as pending, and the same call goes through once when it is approved", async () => {
    const { gate, before, actions } = await open();
    const call = { command: "make deploy" };
    const first = await before(speak.command, call, "k-1");
    const [held] = await actions();
    expect(first.held).toBe(held!.id);
    expect(speak.reason(first.output)).toMatch(new RegExp(`Held by gate.*${held!.id}`));
    expect((await before(speak.command, call, "k-2")).held).toBe(held!.id);
    expect(await actions()).toHaveLength(1);
    await gate.project.actions.approve(held!.id, {}, reviewer);
    expect((await actions())[0]).toMatchObject({ status: "approved", execution: "none" });
    const other = await before(speak.command, { command: "make destroy" }, "k-3");
    expect(other.held).not.toBe(held!.id);
    expect((await before(speak.command, call, "k-4")).output).toEqual({});
    expect(await gate.project.actions.get(held!.id)).toMatchObject({ execution: "running" });
    expect((await before(speak.command, call, "k-5")).held).not.toBe(held!.id);
  });

  test("a decision that comes in time is the answer", async () => {
    const { gate, before, actions } = await open();
    const decide = async (verb: "approve" | "reject", command: string) => {
      const asked = before(speak.command, { command }, command, "wait_ms=20000");
      await expect.poll(async () => (await actions())[0]?.command).toBe(command);
      const { id } = (await actions())[0]!;
      await gate.project.actions[verb](id, { reason: "not today" }, reviewer);
      return (await asked).output;
    };
    expect(await decide("approve", "make a")).toEqual({});
    expect(speak.reason(await decide("reject", "make b"))).toContain("not today");
  });

  test("of equal calls that wait at once, one is given the approval", async () => {
    const { gate, before, actions } = await open();
    const call = { command: "make once" };
    const asked = ["k-1", "k-2", "k-3"].map((key) =>
      before(speak.command, call, key, "wait_ms=20000")
    );
    await expect.poll(async () => (await actions()).length).toBe(1);
    const { id } = (await actions())[0]!;
    await gate.project.actions.approve(id, {}, reviewer);
    const reasons = (await Promise.all(asked)).map(({ output }) => speak.reason(output));
    // A call after the approval was used needs a new approval.
    const gone = reasons.filter((reason) => reason === undefined);
    expect(gone).toHaveLength(1);
    const told = reasons.filter((reason) => reason !== undefined).join();
    expect(told).toMatch(/another call has used it already|Held by gate/);
  });

  test("a native write is rolled back: before-image, after-hash and the folder made for it", async () => {
    const { gate, before, after, actions, path } = await open();
    for (const [name, old] of [["src/old.txt", "old\n"], ["src/deep/new.txt", null]] as const) {
      if (old !== null) gate.write(name, old);
      const input = writing(path(name), "mine\n");
      expect((await before(writer, input, name)).output).toEqual({});
      expect((await actions())[0]).toMatchObject({ path: name, reversible: true });
      gate.write(name, "mine, formatted\n");
      await after(writer, input, name);
      const [done] = await actions();
      expect(done).toMatchObject({ execution: "succeeded" });
      const detail = await gate.project.actions.detail(done!.id);
      expect(detail.after?.text).toBe("mine, formatted\n");
      const { outcome } = await gate.project.actions.rollback(done!.id, {}, reviewer);
      expect(outcome).toBe("restored");
      expect(existsSync(path(name))).toBe(old !== null);
      if (old !== null) expect(readFileSync(path(name), "utf8")).toBe(old);
    }
    expect(existsSync(path("src/deep"))).toBe(false);
  });

  test("a host that reports nothing: the file tells what was done, of a command nobody knows", async () => {
    const { gate, before, actions, path } = await open();
    await before(writer, writing(path("src/a.txt"), "a\n"), "k-a");
    await before(writer, writing(path("src/b.txt"), "b\n"), "k-b");
    await before(speak.command, { command: "echo hi" }, "k-c");
    gate.write("src/a.txt", "a\n");
    await gate.reopen();
    expect((await actions()).map(({ execution }) => execution)).toEqual(
      Array(3).fill("running"),
    );
    gate.clock.advance(700_000);
    await gate.project.actions.expireDue();
    expect((await actions()).map(({ execution }) => execution)).toEqual(
      ["unknown", "failed", "succeeded"],
    );
  });

  test("a write that was not reported is rolled back all the same", async () => {
    const { gate, before, actions, path } = await open();
    await before(writer, writing(path("src/a.txt"), "a\n"));
    writeFileSync(gate.write("src/a.txt", ""), "a\n");
    const { id } = (await actions())[0]!;
    expect(await gate.project.actions.rollback(id, {}, reviewer)).toMatchObject({
      outcome: "restored",
    });
    expect(existsSync(path("src/a.txt"))).toBe(false);
  });

  test("another MCP server's tool meets the tool rules, an unknown one the default", async () => {
    const { gate, post, actions } = await openHooks(host, {
      policies: {
        defaultEffect: "ask",
        allowedTools: [{ pattern: "Fetch*", args: { url: "https://docs.*" } }],
        blockedTools: ["*delete*"],
      },
    });
    const at = { cwd: gate.root, key: "k" };
    const ask = (tool: string, input: Record<string, unknown>) =>
      post(speak.before(tool, input, at));
    expect((await ask("FetchIt", { url: "https://docs.example" })).output).toEqual({});
    expect((await ask("FetchIt", { url: "https://elsewhere" })).held).not.toBeNull();
    expect(speak.reason((await ask("things_delete_all", {})).output)).toContain("Blocked");
    const { held } = await ask("Whatever", { password: "s3cret", n: 1 });
    const { input } = await gate.project.actions.detail(held!);
    expect(input).toEqual({ password: "[redacted]", n: 1 });
    expect(await actions()).toHaveLength(4);
  });

  test("a folder of the project that has been deleted is still in it", async () => {
    const { gate, post } = await openHooks(host, {
      policies: { defaultEffect: "allow", blockedTools: ["*delete*"] },
    });
    const at = { cwd: join(gate.root, "gone", "deeper"), key: "k" };
    const ask = (tool: string, input: object) => post(speak.before(tool, { ...input }, at));
    expect(speak.reason((await ask("things_delete_all", {})).output)).toContain("Blocked");
    expect((await ask(speak.command, { command: "echo hi" })).output).toEqual({});
  });

  test("a session that has ended is followed by another one", async () => {
    const { gate, post, actions } = await openHooks(host, { policies: { defaultEffect: "allow" } });
    const ask = async (key: string) => {
      const call = speak.before(speak.command, { command: `echo ${key}` }, { cwd: gate.root, key });
      expect((await post(call)).output).toEqual({});
      return (await actions())[0]!.session_id;
    };
    const first = await ask("k1");
    expect(await ask("k2")).toBe(first);
    expect((await gate.request("POST", `/api/sessions/${first}/end`)).status).toBe(200);
    const second = await ask("k3");
    expect(second).not.toBe(first);
    expect(await ask("k4")).toBe(second);
  });
});
