import { describe, expect, test } from "vitest";
import { digestOf } from "../../../../server/actions/plan.ts";
import { findAction } from "../../../../server/actions/store.ts";
import { sha256 } from "../../../../server/db/chain.ts";
import { createTestGate, type TestGate } from "../../../helpers.ts";

const BALANCED = { defaultEffect: "ask" as const, blockedPaths: [".env"] };
const KB = 1024;

async function openAgent(gate: TestGate) {
  const response = await gate.request("POST", "/api/sessions", {}, "agent");
  const session_id = (await response.json()).id as string;
  const submit = async (tool: string, input: Record<string, unknown>) => {
    const body = { tool, input, session_id };
    const response = await gate.request("POST", "/api/actions", body, "agent");
    const { status, headers } = response;
    return { status, headers, body: await response.json() };
  };
  const run = (command: string) => submit("run_command", { command });
  return { session_id, submit, run };
}

const eventsOf = async (gate: TestGate, type: string) =>
  (await gate.audit()).filter((event) => event.type === type);

describe("a refused action", () => {
  const command = `cat .env #${"x".repeat(30_000)}END`;

  test("keeps an excerpt of a long command, whose event names the length and hash of the whole", async () => {
    const gate = await createTestGate({ policies: BALANCED });
    const agent = await openAgent(gate);
    const { status, body } = await agent.run(command);
    expect([status, body.status, body.decision.effect]).toEqual([201, "blocked", "deny"]);
    const whole = { bytes: command.length, sha256: sha256(command) };
    const { data } = (await eventsOf(gate, "action.submitted"))[0] as { data: typeof body };
    expect(data.shortened.command).toEqual(whole);
    expect(data.command.length).toBeLessThan(4_096);
    expect(data.command).toMatch(
      /^cat \.env #x+ \[gate kept no more of this text: \d+ characters\] x+END$/,
    );
    // A reader who has the text can check the digest of what was asked.
    const row = (await findAction(gate.project.ledger, body.id))!;
    const { shortened: _, ...plan } = row.plan!;
    expect(digestOf({ ...plan, command, input: { command } })).toBe(data.digest);
    expect(digestOf({ ...plan, command: `${command}x`, input: { command } })).not.toBe(data.digest);
    const detail = await (await gate.request("GET", `/api/actions/${body.id}`)).json();
    expect(detail.shortened.command).toEqual(whole);
    expect(JSON.stringify(row).length).toBeLessThan(16 * KB);
    expect((await gate.project.audit.verify()).ok).toBe(true);
  });

  test.each([
    ["edits", "edit_file", {
      path: ".env",
      edits: [{ old_text: "a", new_text: "y".repeat(300_000) }],
    }],
    ["a foreign tool's input", "mcp__other__do", {
      list: Array.from({ length: 90 }, (_, i) => `${i}.env`.padEnd(4_000, "z")),
      path: ".env",
    }],
  ])("keeps an excerpt of %s", async (_, tool, input) => {
    const gate = await createTestGate({
      policies: { ...BALANCED, blockedTools: ["mcp__other__do"] },
    });
    const { body } = await (await openAgent(gate)).submit(tool, input);
    expect(body.status).toBe("blocked");
    const row = (await findAction(gate.project.ledger, body.id))!;
    expect(JSON.stringify(row).length).toBeLessThan(24 * KB);
    expect(row.plan!.shortened!.input!.bytes).toBeGreaterThan(200_000);
    expect((await gate.project.audit.verify()).ok).toBe(true);
  });

  test("of ordinary length is kept whole", async () => {
    const gate = await createTestGate({ policies: BALANCED });
    const text = `cat .env #${"x".repeat(2_000)}`;
    const { body } = await (await openAgent(gate)).run(text);
    expect((await findAction(gate.project.ledger, body.id))!).toMatchObject({
      command: text,
      plan: { command: text, input: { command: text } },
    });
    const { data } = (await eventsOf(gate, "action.submitted"))[0] as { data: typeof body };
    expect(data).not.toHaveProperty("shortened");
  });

  test("a held action is never shortened, nor is an allowed one", async () => {
    const gate = await createTestGate({
      policies: { ...BALANCED, allowedCommands: ["echo"] },
    });
    const agent = await openAgent(gate);
    for (const text of [`make ${"x".repeat(100_000)}`, `echo ${"x".repeat(6_000)}`]) {
      const { body } = await agent.run(text);
      expect(body.status).toBe(text.startsWith("make") ? "pending" : "approved");
      const row = (await findAction(gate.project.ledger, body.id))!;
      expect(row).toMatchObject({ command: text, plan: { command: text } });
      expect(row.plan!.shortened).toBeUndefined();
    }
  });

  test("a trial of another policy says that it cannot judge an excerpt", async () => {
    const gate = await createTestGate({ policies: BALANCED });
    await (await openAgent(gate)).run(command);
    const replayed = await gate.request("POST", "/api/policy/replay", {
      since: "2025-12-01T00:00:00.000Z",
      policies: { defaultEffect: "allow" },
    });
    expect((await replayed.json()).unjudged).toMatchObject([{
      why: expect.stringContaining("excerpt"),
      count: 1,
    }]);
  });
});

describe("the quota of refused actions", () => {
  const policies = { ...BALANCED, maxRefusedBytesPerSession: 64 * KB };

  test("stops a session that repeats what is refused, and tells the person once", async () => {
    const gate = await createTestGate({ policies });
    const agent = await openAgent(gate);
    const answers = [];
    for (let i = 0; i < 40; i++) answers.push(await agent.run(`cat .env #${i}`));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(10);
    const { body, headers } = refused.at(-1)!;
    expect(body).toMatchObject({ code: "rate_limited", limit: "maxRefusedBytesPerSession" });
    expect(body.detail).toMatch(
      /^Cannot record the action, which policy refuses: .*; stop repeating/,
    );
    expect(headers.get("retry-after")).toBe(String(body.retry_after));
    expect(await eventsOf(gate, "quota.reached")).toMatchObject([{
      session_id: agent.session_id,
      actor: { kind: "system", id: "gate" },
      data: { limit: "maxRefusedBytesPerSession", most: 64 * KB, effect: "deny" },
    }]);
    // Nothing else of the session stops, and no other session.
    expect((await agent.run("make")).status).toBe(202);
    expect((await (await openAgent(gate)).run("cat .env")).status).toBe(201);
    expect((await gate.project.audit.verify()).ok).toBe(true);
  });

  test("ends after the time that the answer names, not before", async () => {
    const gate = await createTestGate({ policies });
    const agent = await openAgent(gate);
    let answer = await agent.run("cat .env");
    for (let i = 0; answer.status !== 429; i++) answer = await agent.run(`cat .env #${i}`);
    const wait_ms = Number(answer.headers.get("retry-after")) * 1000;
    gate.clock.advance(wait_ms - 2_000);
    expect((await agent.run("cat .env #a")).status).toBe(429);
    gate.clock.advance(2_000);
    expect((await agent.run("cat .env #b")).status).toBe(201);
  });

  test("counts all sessions of the machine together", async () => {
    const gate = await createTestGate({
      policies: { ...BALANCED, maxRefusedBytesPerMachine: 256 * KB },
    });
    const limits = new Set<string>();
    let written = 0;
    for (let i = 0; i < 100; i++) {
      const { status, body } = await (await openAgent(gate)).run(`cat .env #${i}`);
      if (status === 429) limits.add(body.limit);
      else written++;
    }
    expect([...limits]).toEqual(["maxRefusedBytesPerMachine"]);
    expect(written).toBeLessThan(60);
    expect((await eventsOf(gate, "quota.reached")).length).toBe(1);
  });

  test("a hook that is over it denies", async () => {
    const gate = await createTestGate({ policies });
    const hook = async (i: number) => {
      const body = {
        ...{ hook_event_name: "PreToolUse", session_id: "s", cwd: gate.root },
        ...{ tool_name: "Bash", tool_input: { command: `cat .env #${i}` }, tool_use_id: `${i}` },
      };
      const path = "/api/hooks/claude-code?wait_ms=0";
      return (await (await gate.request("POST", path, body, "agent")).json()).hookSpecificOutput;
    };
    const answers = [];
    for (let i = 0; i < 40; i++) answers.push(await hook(i));
    expect(new Set(answers.map(({ permissionDecision }) => permissionDecision)))
      .toEqual(new Set(["deny"]));
    expect(answers.at(-1).permissionDecisionReason).toContain("maxRefusedBytesPerSession");
  });
});

describe("the quota of records", () => {
  const policies = {
    defaultEffect: "allow" as const,
    askPaths: ["held/**"],
    maxRecordedBytesPerSession: 512 * KB,
  };

  test.each([
    ["allowed", (i: number) => `${i}`],
    ["held", (i: number) => `held/${i}`],
  ])("stops a session that writes too much: %s", async (_, path) => {
    const gate = await createTestGate({ policies });
    const agent = await openAgent(gate);
    const write = (i: number) =>
      agent.submit("write_file", { path: path(i), content: `${i}`.repeat(100 * KB) });
    const statuses = [];
    for (let i = 0; i < 9; i++) statuses.push((await write(i)).status);
    const at = statuses.indexOf(429);
    expect(at).toBeGreaterThan(3);
    expect(new Set(statuses.slice(at))).toEqual(new Set([429]));
    expect(await eventsOf(gate, "quota.reached")).toMatchObject([{
      data: { limit: "maxRecordedBytesPerSession", tool: "write_file" },
    }]);
    gate.clock.advance(10 * 60_000);
    expect((await write(10)).status).toBeLessThan(300);
  });

  test("hold and cancel is no way around it", async () => {
    const gate = await createTestGate({ policies });
    const agent = await openAgent(gate);
    let last = 0;
    for (let i = 0; i < 9 && last !== 429; i++) {
      const input = { path: "held/a", content: `${i}`.repeat(100 * KB) };
      const { status, body } = await agent.submit("write_file", input);
      last = status;
      if (status === 202) {
        await gate.request("POST", `/api/actions/${body.id}/cancel`, {}, "agent");
      }
    }
    expect(last).toBe(429);
  });

  test("the outputs and before-images of commands count", async () => {
    const gate = await createTestGate({ policies });
    gate.write("big", "a".repeat(300 * KB));
    const agent = await openAgent(gate);
    const statuses = [];
    for (let i = 0; i < 8; i++) {
      const { status, body } = await agent.run(`rm big #${i}`);
      statuses.push(status);
      if (status === 429) break;
      const headers = undefined;
      const claim = await gate.request(
        "POST",
        `/api/actions/${body.id}/claim`,
        {},
        "agent",
        headers,
      );
      const { claim_id } = await claim.json();
      gate.write("big", `${i}`.repeat(300 * KB));
      const result = { claim_id, exit_code: 0, output: `${i}`.repeat(90 * KB), truncated: false };
      await gate.request(
        "POST",
        `/api/actions/${body.id}/result`,
        { ...result, duration_ms: 1 },
        "agent",
      );
    }
    expect(statuses.at(-1)).toBe(429);
    expect(statuses.length).toBeLessThan(5);
  });

  test("the same content counts once", async () => {
    const gate = await createTestGate({ policies });
    const agent = await openAgent(gate);
    for (let i = 0; i < 20; i++) {
      const input = { path: `${i}`, content: "same".repeat(50 * KB) };
      expect((await agent.submit("write_file", input)).status).toBe(201);
    }
  });

  test("opening sessions is no way around the machine's limit", async () => {
    const gate = await createTestGate({
      policies: { defaultEffect: "allow", maxRecordedBytesPerMachine: 1024 * KB },
    });
    const statuses = [];
    for (let i = 0; i < 40; i++) {
      statuses.push((await gate.request("POST", "/api/sessions", {}, "agent")).status);
    }
    expect(statuses.filter((status) => status < 300).length).toBeLessThan(20);
    expect(statuses.at(-1)).toBe(429);
    // A person is not counted.
    expect((await gate.request("POST", "/api/sessions", {})).status).toBeLessThan(300);
  });

  test("the stricter of the machine's and the project's limit holds", async () => {
    const gate = await createTestGate({
      policies: { ...BALANCED, maxRefusedBytesPerSession: 1024 * KB },
      globalPolicies: { maxRefusedBytesPerSession: 64 * KB },
    });
    const agent = await openAgent(gate);
    const statuses = [];
    for (let i = 0; i < 40; i++) statuses.push((await agent.run(`cat .env #${i}`)).status);
    expect(statuses).toContain(429);
  });
});
