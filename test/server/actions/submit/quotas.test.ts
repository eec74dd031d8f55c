import { describe, expect, test } from "vitest";
import { createTestGate, type TestGate } from "../../../helpers.ts";

const ASK = { defaultEffect: "ask" as const };

async function openAgent(gate: TestGate) {
  const opened = await (await gate.request("POST", "/api/sessions", {}, "agent")).json();
  const write = async (path: string, content = "x") => {
    const body = { tool: "write_file", input: { path, content }, session_id: opened.id };
    const response = await gate.request("POST", "/api/actions", body, "agent");
    return { status: response.status, body: await response.json() };
  };
  return { session: opened.id as string, write };
}

describe("the queue of the people", () => {
  test("takes so many actions of a session, and as many of another", async () => {
    const gate = await createTestGate({ policies: { ...ASK, maxHeldPerSession: 3 } });
    const [first, second] = [await openAgent(gate), await openAgent(gate)];
    for (const path of ["a", "b", "c"]) expect((await first.write(path)).status).toBe(202);
    const refused = await first.write("d");
    expect(refused).toMatchObject({ status: 429, body: { code: "rate_limited" } });
    expect(refused.body.detail).toMatch(/^Cannot hold the action: 3 actions of this session/);
    // The same call again joins its twin.
    expect((await first.write("a")).status).toBe(202);
    expect((await second.write("d")).status).toBe(202);
    const { body: { id } } = await first.write("b");
    await gate.request("POST", `/api/actions/${id}/reject`, {});
    expect((await first.write("d")).status).toBe(202);
  });

  test("takes so many actions of a project", async () => {
    const gate = await createTestGate({ policies: { ...ASK, maxHeldPerProject: 4 } });
    for (let i = 0; i < 4; i++) {
      expect((await (await openAgent(gate)).write(`${i}`)).status).toBe(202);
    }
    expect((await (await openAgent(gate)).write("5")).body.code).toBe("rate_limited");
  });

  test("takes so many bytes of a session", async () => {
    const gate = await createTestGate({ policies: { ...ASK, maxHeldBytesPerSession: 1_000 } });
    const agent = await openAgent(gate);
    expect((await agent.write("a", "x".repeat(600))).status).toBe(202);
    expect(await agent.write("b", "x".repeat(600)))
      .toMatchObject({ status: 413, body: { code: "too_large" } });
    expect((await agent.write("b", "x".repeat(400))).status).toBe(202);
  });

  test("counts the texts of commands", async () => {
    const gate = await createTestGate({ policies: { ...ASK, maxHeldBytesPerSession: 40_000 } });
    const { session } = await openAgent(gate);
    const run = async (command: string) => {
      const body = { tool: "run_command", input: { command }, session_id: session };
      return (await gate.request("POST", "/api/actions", body, "agent")).status;
    };
    const comment = "x".repeat(8_000);
    expect(await run(`make a # ${comment}`)).toBe(202);
    expect(await run(`make b # ${comment}`)).toBe(413);
    // The same command again joins its twin.
    expect(await run(`make a # ${comment}`)).toBe(202);
    expect(await run("make b")).toBe(202);
  });

  test("the stricter of the machine's and the project's limits holds", async () => {
    const gate = await createTestGate({
      policies: { ...ASK, maxHeldPerSession: 50 },
      globalPolicies: { maxHeldPerSession: 1 },
    });
    const agent = await openAgent(gate);
    expect((await agent.write("a")).status).toBe(202);
    expect((await agent.write("b")).status).toBe(429);
  });

  test("twenty at once do not pass the limit by more than the few that were on their way", async () => {
    const gate = await createTestGate({ policies: { ...ASK, maxHeldPerSession: 5 } });
    const agent = await openAgent(gate);
    const paths = Array.from({ length: 20 }, (_, i) => `${i}`);
    const answers = await Promise.all(paths.map((path) => agent.write(path)));
    expect(answers.every(({ status }) => status === 202 || status === 429)).toBe(true);
    expect((await agent.write("later")).status).toBe(429);
  });
});

describe("POST /api/actions/reject", () => {
  async function held() {
    const gate = await createTestGate({ policies: ASK });
    const [first, second] = [await openAgent(gate), await openAgent(gate)];
    const ids: string[] = [];
    for (const [agent, path] of [[first, "a"], [first, "b"], [second, "c"]] as const) {
      ids.push((await agent.write(path)).body.id);
    }
    const reject = async (body: unknown, scope?: "agent" | "viewer") => {
      const response = await gate.request("POST", "/api/actions/reject", body, scope);
      return { status: response.status, body: await response.json() };
    };
    const pending = async () =>
      (await gate.project.actions.list({ status: "pending" })).items.map(({ path }) => path).sort();
    return { gate, ids, first, reject, pending };
  }

  test("rejects these, those of a session, or all, each with its event", async () => {
    const { gate, ids, first, reject, pending } = await held();
    const some = await reject({ action_ids: [ids[2], ids[2]], reason: "no" });
    expect(some.body).toMatchObject({ rejected: [{ id: ids[2], reason: "no" }], skipped: [] });
    expect(await pending()).toEqual(["a", "b"]);
    const again = await reject({ action_ids: [ids[2], ids[0]] });
    expect(again.body.skipped).toMatchObject([{ action_id: ids[2] }]);
    expect((await reject({ session_id: first.session })).body.rejected.length).toBe(1);
    await first.write("d");
    expect((await reject({ all: true })).body.rejected.length).toBe(1);
    expect(await pending()).toEqual([]);
    const types = (await gate.audit()).filter(({ type }) => type === "action.rejected");
    expect(types.length).toBe(4);
  });

  test.each([
    [{}],
    [{ all: false }],
    [{ all: true, session_id: "x" }],
    [{ action_ids: [] }],
    [{ action_ids: "x" }],
  ])("refuses %j", async (body) => {
    const { reject, pending } = await held();
    expect((await reject(body)).status).toBe(400);
    expect((await pending()).length).toBe(3);
  });

  test.each(["agent", "viewer"] as const)("is not for a %s", async (scope) => {
    const { reject, pending } = await held();
    expect((await reject({ all: true }, scope)).status).toBe(403);
    expect((await pending()).length).toBe(3);
  });
});

describe("the end of a session", () => {
  test("cancels what it holds, and nothing else", async () => {
    const gate = await createTestGate({
      policies: { defaultEffect: "allow", askPaths: ["held/**"] },
    });
    const [first, second] = [await openAgent(gate), await openAgent(gate)];
    const { body: done } = await first.write("a");
    const { body: mine } = await first.write("held/a");
    const { body: other } = await second.write("held/b");
    const end = () => gate.request("POST", `/api/sessions/${first.session}/end`, {}, "agent");
    const [response] = await Promise.all([end(), end()]);
    expect(await response!.json()).toMatchObject({
      pending_count: 0,
      ended_at: expect.any(String),
    });
    const status = async (id: string) => (await gate.project.actions.get(id)).status;
    expect(await status(mine.id)).toBe("cancelled");
    expect([await status(done.id), await status(other.id)]).toEqual(["approved", "pending"]);
    const ends = (await gate.audit()).filter(({ session_id }) => session_id === first.session)
      .slice(-2);
    expect(ends.map(({ type }) => type)).toEqual(["session.ended", "action.cancelled"]);
    expect((await gate.request("POST", `/api/actions/${mine.id}/approve`, {})).status).toBe(409);
  });

  test("does not come from a client that was killed: its action can still be approved", async () => {
    const gate = await createTestGate({ policies: ASK });
    const agent = await openAgent(gate);
    const { body } = await agent.write("a");
    await gate.reopen();
    expect((await gate.request("POST", `/api/actions/${body.id}/approve`, {})).status).toBe(200);
  });
});
