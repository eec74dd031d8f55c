import { describe, expect, test } from "vitest";
import { agent, openGate, reviewer } from "../harness.ts";

describe("a wait", () => {
  test("ends at its time-out while the action is still pending", async () => {
    const { submitted } = await openGate({ policies: { defaultEffect: "ask" } });
    const started = performance.now();
    const { action } = await submitted("write_file", { path: "a", content: "x" }, 50);
    expect(action.status).toBe("pending");
    expect(performance.now() - started).toBeGreaterThan(45);
  });

  test("ends when the action expires", async () => {
    const { gate, submitted, actions } = await openGate({
      policies: { defaultEffect: "ask", approvalTimeoutSeconds: 60 },
    });
    const { action } = await submitted("write_file", { path: "a", content: "x" });
    expect(action.expires_at).toBe(new Date(gate.clock.now + 60_000).toISOString());
    const waiting = actions.wait(action.id, { timeout_ms: 20_000 }, agent);
    gate.clock.advance(60_000);
    await expect(actions.approve(action.id, {}, reviewer)).rejects.toMatchObject({
      code: "conflict",
      fields: { current_status: "expired" },
    });
    expect((await waiting).action).toMatchObject({ status: "expired", decided_by: "system" });
  });

  test("ends for all 50 waiters of an action, also when the gate closes", async () => {
    const { gate, submitted, actions } = await openGate({ policies: { defaultEffect: "ask" } });
    const { action } = await submitted("write_file", { path: "a", content: "x" });
    const wait = () => actions.wait(action.id, { timeout_ms: 20_000 }, agent);
    const many = Array.from({ length: 50 }, wait);
    await actions.reject(action.id, {}, reviewer);
    for (const { action } of await Promise.all(many)) expect(action.status).toBe("rejected");
    const other = (await submitted("write_file", { path: "b", content: "x" })).action;
    const held = actions.wait(other.id, { timeout_ms: 20_000 }, agent);
    await gate.close();
    await expect(held.then(({ action }) => action.status, () => "gone")).resolves.toMatch(
      /pending|gone/,
    );
  });

  test("is refused with 429 when 2,000 actions are pending", async () => {
    const { gate, write, submit, actions } = await openGate({
      policies: { defaultEffect: "ask", allowedPaths: ["free/**"], maxHeldPerSession: 10_000 },
    });
    const { id } = await write("a", "x");
    const { ledger } = gate.project;
    const columns = (await ledger.all("SELECT name FROM pragma_table_info('actions')"))
      .map(({ name }) => String(name));
    const values = columns.map((name) =>
      name === "number"
        ? "number + n"
        : name === "id"
        ? "id || n"
        : name === "seq"
        ? "seq + n"
        : name === "digest"
        ? "n"
        : name
    );
    await ledger.commit({
      statements: [{
        sql: `WITH RECURSIVE many(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM many WHERE n < 1999)
          INSERT INTO actions (${columns}) SELECT ${values} FROM actions, many WHERE id = ?`,
        args: [id],
      }],
      events: [],
    });
    expect(await gate.project.countPending()).toBe(2_000);
    await expect(write("b", "x")).rejects.toMatchObject({ code: "rate_limited", status: 429 });
    expect(await submit("write_file", { path: "free/b", content: "x" })).toMatchObject({
      execution: "succeeded",
    });
    await actions.cancel(id, {}, agent);
    expect(await write("b", "x")).toMatchObject({ status: "pending" });
  });
});
