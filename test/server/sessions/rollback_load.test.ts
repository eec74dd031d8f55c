import { setImmediate } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { openSessions } from "./harness.ts";

const MANY = 200;

test("everybody else has turns while a large session is thought through and rolled back", async () => {
  const { gate, open, write, back, diff } = await openSessions();
  const session = await open("codex");
  for (let at = 0; at < MANY; at++) await write(session, `src/${at}.txt`, `${at}\n`);
  for (const work of [() => back(session, { dry_run: true }), () => diff(session)]) {
    const { turns, answer } = await turnsDuring(work());
    expect(answer.status).toBe(200);
    expect(turns).toBeGreaterThan(2);
  }
  for (let at = 0; at < MANY; at++) gate.write(`src/${at}.txt`, "by hand\n");
  const forced = await turnsDuring(back(session, { on_conflict: "force" }));
  expect(forced.answer).toMatchObject({ status: 200, body: { rollback_state: "full" } });
  expect(forced.turns).toBeGreaterThan(2);
});

/** How often others could do something while this was being done. */
async function turnsDuring<T>(work: Promise<T>): Promise<{ turns: number; answer: T }> {
  let isDone = false;
  const answered = work.finally(() => void (isDone = true));
  let turns = 0;
  for (; !isDone; turns++) await setImmediate();
  return { turns, answer: await answered };
}

test("a rollback looks up its own rows, however much else the ledger holds", async () => {
  const { gate, open, write, back, part, submit, ask, diff } = await openSessions();
  const { ledger } = gate.project;
  const session = await open("codex");
  const id = await write(session, "a.txt", "a1\n");
  await write(session, "b.txt", "b1\n");
  const command = await submit(session, "run_command", { command: "rm c.txt" });
  gate.write("c.txt", "c\n");
  const asked = new Map<string, Parameters<typeof ledger.all>>();
  const spy = vi.spyOn(ledger, "all");
  const claim = await ask("POST", `/api/actions/${command.id}/claim`, {}, "agent");
  await ask("POST", `/api/actions/${command.id}/result`, {
    claim_id: claim.body.claim_id,
    exit_code: 0,
    output: "",
    truncated: false,
    duration_ms: 1,
  }, "agent");
  expect(await diff(session)).toMatchObject({ status: 200 });
  expect(await part(session, [id])).toMatchObject({ status: 200 });
  expect(await back(session)).toMatchObject({ status: 200, body: { rollback_state: "full" } });
  for (const [sql, args] of spy.mock.calls) asked.set(sql, [sql, args]);
  spy.mockRestore();
  const plans: string[] = [];
  for (const [sql, args] of asked.values()) {
    for (const { detail } of await ledger.all(`EXPLAIN QUERY PLAN ${sql}`, args)) {
      plans.push(`${detail}  ← ${sql}`);
    }
  }
  expect(plans.length).toBeGreaterThan(10);
  expect(plans.filter((plan) => /audit_by_type|SCAN (actions|audit|intents|sessions)/.test(plan)))
    .toEqual([]);
});
