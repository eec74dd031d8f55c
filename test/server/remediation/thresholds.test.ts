import Sqlite from "libsql";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Block } from "../../../server/remediation/schema.ts";
import { createTestGate, type TestGate } from "../../helpers.ts";

const POLICIES = {
  defaultEffect: "allow" as const,
  blockedPaths: [".env"],
  askCommands: ["terraform"],
  maxDenialsPerSession: 5,
  maxDenialsPerAgent: 8,
  maxCriticalPerSession: 3,
  denialWindowSeconds: 600,
  blockSeconds: 900,
};

interface Open {
  session_id: string;
  submit(path: string): Promise<{ status: string; decision: { reason: string; rule: unknown } }>;
  run(command: string): Promise<{ id: string; status: string; digest: string }>;
}

async function openSession(gate: TestGate, agent = "tester"): Promise<Open> {
  const opened = await gate.request("POST", "/api/sessions", { agent, host: "test" }, "agent");
  const { id: session_id, session_secret } = await opened.json();
  const headers = { "X-Gate-Session": session_secret };
  const send = async (tool: string, input: Record<string, unknown>) => {
    const body = { tool, input, session_id };
    return await (await gate.request("POST", "/api/actions", body, "agent", headers)).json();
  };
  return {
    session_id,
    submit: (path) => send("write_file", { path, content: "x" }),
    run: (command) => send("run_command", { command }),
  };
}

const listBlocks = async (gate: TestGate): Promise<Block[]> =>
  (await (await gate.request("GET", "/api/remediation/blocks")).json()).items;

describe("thresholds", () => {
  test("a session that is denied five times is blocked, listed, streamed, survives a restart and is lifted", async () => {
    const gate = await createTestGate({ policies: POLICIES });
    const session = await openSession(gate);
    for (let n = 0; n < 4; n++) {
      expect(await session.submit(".env")).toMatchObject({ status: "blocked" });
      gate.clock.advance(1_000);
    }
    expect(await listBlocks(gate)).toEqual([]);
    expect(await session.submit("a.txt")).toMatchObject({ status: "approved" });
    await session.submit(".env");
    const [block] = await listBlocks(gate);
    expect(block).toMatchObject({
      session_id: session.session_id,
      agent: null,
      reason: "Policy has denied 5 of its actions within 10 minutes",
      expires_at: new Date(gate.clock.now + 900_000).toISOString(),
    });
    const told = gate.events.filter(({ topic, type }) =>
      topic === "risk" && type === "block.added"
    );
    expect(told).toHaveLength(1);
    expect((await gate.audit()).filter(({ type }) => type === "block.added")).toMatchObject([
      { actor: { kind: "system" }, data: { block_id: block!.id, expires_at: block!.expires_at } },
    ]);
    const denied = { status: "blocked", decision: { rule: { source: "auto-block" } } };
    expect(await session.submit("a.txt")).toMatchObject(denied);
    expect(await session.submit(".env")).toMatchObject({ status: "blocked" });
    const other = await openSession(gate);
    expect(await other.submit("a.txt")).toMatchObject({ status: "approved" });

    await gate.reopen();
    expect(await listBlocks(gate)).toEqual([block]);
    expect(await session.submit("a.txt")).toMatchObject(denied);

    const url = `/api/remediation/blocks/${block!.id}/unblock`;
    const lifted = await gate.request("POST", url, { reason: "seen" });
    expect({ status: lifted.status, body: await lifted.json() }).toMatchObject({
      status: 200,
      body: { lifted_by: "reviewer" },
    });
    expect(await listBlocks(gate)).toEqual([]);
    expect(await session.submit("b.txt")).toMatchObject({ status: "approved" });
    expect((await gate.request("POST", url, {})).status).toBe(409);
  });

  test("a block ends at its time, and counting begins anew", async () => {
    const gate = await createTestGate({ policies: POLICIES });
    const session = await openSession(gate);
    for (let n = 0; n < 5; n++) await session.submit(".env");
    const [block] = await listBlocks(gate);
    gate.clock.advance(900_000 - 1);
    expect(await session.submit("a.txt")).toMatchObject({ status: "blocked" });
    gate.clock.advance(1);
    expect(await session.submit("a.txt")).toMatchObject({ status: "approved" });
    expect(await listBlocks(gate)).toEqual([]);
    const late = await gate.request("POST", `/api/remediation/blocks/${block!.id}/unblock`, {});
    expect({ status: late.status, body: await late.json() }).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining("it ended at") },
    });
    for (let n = 0; n < 4; n++) await session.submit(".env");
    expect(await listBlocks(gate)).toEqual([]);
    await session.submit(".env");
    expect(await listBlocks(gate)).toHaveLength(1);
  });

  test("the end of a block is recorded and streamed once, over a restart too", async () => {
    const gate = await createTestGate({ policies: POLICIES });
    const ends = async () => (await gate.audit()).filter(({ type }) => type === "block.removed");
    const blocked = async () => {
      const session = await openSession(gate);
      for (let n = 0; n < 5; n++) await session.submit(".env");
      return (await listBlocks(gate))[0]!;
    };
    const block = await blocked();
    // Another program cannot end it earlier by its row.
    const db = new Sqlite(join(gate.home, "projects", "test", "ledger.db"));
    db.exec("UPDATE blocks SET expires_at = '2000-01-01T00:00:00.000Z'");
    db.close();
    await gate.project.actions.expireDue();
    expect([await ends(), (await listBlocks(gate)).length]).toEqual([[], 1]);
    gate.clock.advance(900_000);
    for (let n = 0; n < 2; n++) await gate.project.actions.expireDue();
    expect(await ends()).toMatchObject([{
      session_id: block.session_id,
      actor: { kind: "system", id: "gate" },
      data: { block_id: block.id, reason: "its time is over" },
    }]);
    const told = gate.events.filter(({ type }) => type === "block.removed");
    expect(told.map(({ topic }) => topic).toSorted()).toEqual(["risk", "sessions"]);
    await blocked();
    await gate.reopen(() => gate.clock.advance(900_000));
    expect((await ends()).length).toBe(2);
    expect(await listBlocks(gate)).toEqual([]);
    await gate.reopen();
    expect((await ends()).length).toBe(2);
    expect(gate.logs.filter(({ message }) => message.includes("was lifted without"))).toEqual([]);
    expect(await gate.project.audit.verify()).toMatchObject({ ok: true, problem: null });
  });

  test("denials outside the window do not count, and those before a restart do", async () => {
    const gate = await createTestGate({ policies: POLICIES });
    const session = await openSession(gate);
    for (let n = 0; n < 3; n++) await session.submit(".env");
    gate.clock.advance(601_000);
    for (let n = 0; n < 3; n++) await session.submit(".env");
    expect(await listBlocks(gate)).toEqual([]);
    await gate.reopen();
    await session.submit(".env");
    expect(await listBlocks(gate)).toEqual([]);
    await session.submit(".env");
    expect(await listBlocks(gate)).toHaveLength(1);
  });

  test("of twenty denials at once, one block results", async () => {
    const gate = await createTestGate({ policies: { ...POLICIES, maxDenialsPerAgent: 1_000 } });
    const session = await openSession(gate);
    await Promise.all(Array.from({ length: 20 }, () => session.submit(".env")));
    expect(await listBlocks(gate)).toHaveLength(1);
    expect((await gate.audit()).filter(({ type }) => type === "block.added")).toHaveLength(1);
  });

  test("an agent that spreads its denials over sessions is blocked in all of them", async () => {
    const gate = await createTestGate({ policies: POLICIES });
    const sessions = [await openSession(gate), await openSession(gate), await openSession(gate)];
    for (let n = 0; n < 8; n++) await sessions[n % 3]!.submit(".env");
    expect(await listBlocks(gate)).toMatchObject([{ agent: "tester" }]);
    for (const one of [...sessions, await openSession(gate)]) {
      expect(await one.submit("a.txt")).toMatchObject({ status: "blocked" });
    }
    const other = await openSession(gate, "another");
    expect(await other.submit("a.txt")).toMatchObject({ status: "approved" });
    await gate.reopen();
    expect(await sessions[0]!.submit("a.txt")).toMatchObject({ status: "blocked" });
  });

  test("actions of critical risk block a session unless a person approves them", async () => {
    const gate = await createTestGate({ policies: POLICIES });
    const session = await openSession(gate);
    const apply = (n: number) =>
      session.run(`terraform apply -auto-approve -var-file=prod${n}.tfvars`);
    for (let n = 0; n < 4; n++) {
      const { id, digest } = await apply(n);
      const url = `/api/actions/${id}/approve`;
      expect((await gate.request("POST", url, { expected_digest: digest })).status).toBe(200);
    }
    expect(await listBlocks(gate)).toEqual([]);
    for (let n = 4; n < 7; n++) await apply(n);
    expect(await listBlocks(gate)).toMatchObject([
      { reason: expect.stringContaining("3 actions of critical risk that nobody approved") },
    ]);
    expect(await session.submit("a.txt")).toMatchObject({ status: "blocked" });
  });

  test("a person's own calls count for nothing", async () => {
    const gate = await createTestGate({ policies: POLICIES });
    const session = await openSession(gate);
    const { id } = await (await gate.request("POST", "/api/actions", {
      tool: "write_file",
      input: { path: "a.txt", content: "1" },
      session_id: session.session_id,
    })).json();
    await gate.request("POST", `/api/actions/${id}/rollback`, {});
    expect(await listBlocks(gate)).toEqual([]);
  });
});
