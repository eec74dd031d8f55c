import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTestGate, testCaller, type TestGate } from "../../../helpers.ts";

const agent = testCaller("agent");
const reviewer = testCaller("reviewer");
const ROUNDS = 50;

interface Answer {
  status: number;
  body: Record<string, unknown>;
}

/** Submits a write that policy holds, to a file of its own for each round. Returns its id. */
async function held(gate: TestGate, round: number): Promise<string> {
  const input = { path: `f${round}.txt`, content: `${round}` };
  const { action } = await gate.project.actions.submit({ tool: "write_file", input }, agent);
  expect(action.status).toBe("pending");
  return action.id;
}

async function ask(gate: TestGate, id: string, verb: string): Promise<Answer> {
  const response = await gate.request("POST", `/api/actions/${id}/${verb}`, {});
  return { status: response.status, body: await response.json() };
}

async function typesOf(gate: TestGate, id: string): Promise<string[]> {
  const events = await gate.audit();
  return events.filter(({ action_id }) => action_id === id).map(({ type }) => type);
}

test("of 20 concurrent approvals one wins, executes once and records one decision", async () => {
  const gate = await createTestGate({ policies: { defaultEffect: "ask" } });
  for (let round = 0; round < ROUNDS; round++) {
    const id = await held(gate, round);
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(gate, id, "approve")));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(409)]);
    for (const { status, body } of answers) {
      if (status === 409) {
        expect(body).toMatchObject({ code: "conflict", current_status: "approved" });
      }
    }
    expect(await typesOf(gate, id)).toEqual([
      "action.submitted",
      "action.approved",
      "action.started",
      "action.finished",
    ]);
    expect(readFileSync(join(gate.root, `f${round}.txt`), "utf8")).toBe(`${round}`);
  }
});

test("of 20 concurrent approvals and 20 rejections one wins and takes effect", async () => {
  const gate = await createTestGate({ policies: { defaultEffect: "ask" } });
  const wins = { approve: 0, reject: 0 };
  for (let round = 0; round < ROUNDS; round++) {
    const id = await held(gate, round);
    const verbs = Array.from({ length: 40 }, (_, n) => (n + round) % 2 ? "approve" : "reject");
    const answers = await Promise.all(verbs.map((verb) => ask(gate, id, verb)));
    const winners = verbs.filter((_, n) => answers[n]!.status === 200) as (keyof typeof wins)[];
    expect(winners).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(39);
    wins[winners[0]!]++;
    const { status, execution } = await gate.project.actions.get(id);
    const isApproved = winners[0] === "approve";
    expect({ status, execution }).toEqual(
      isApproved
        ? { status: "approved", execution: "succeeded" }
        : { status: "rejected", execution: "none" },
    );
    expect(await typesOf(gate, id)).toEqual(
      isApproved
        ? ["action.submitted", "action.approved", "action.started", "action.finished"]
        : ["action.submitted", "action.rejected"],
    );
  }
  expect(wins.approve + wins.reject).toBe(ROUNDS);
  expect(await gate.project.audit.verify()).toMatchObject({ ok: true });
});

test(
  "an action with a concurrent approval and deadline is approved or expired, never both",
  async () => {
    const gate = await createTestGate({
      policies: { defaultEffect: "ask", approvalTimeoutSeconds: 60 },
    });
    const { actions } = gate.project;
    for (let round = 0; round < ROUNDS; round++) {
      const id = await held(gate, round);
      gate.clock.advance(60_000 - round % 2);
      const approve = () => actions.approve(id, {}, reviewer).then(() => "approved", () => "lost");
      const [answer] = round % 3 === 0
        ? await Promise.all([approve(), actions.expireDue()])
        : (await Promise.all([actions.expireDue(), approve()])).reverse() as [string];
      gate.clock.advance(1);
      await actions.expireDue();
      const { status } = await actions.get(id);
      expect(status).toBe(answer === "approved" ? "approved" : "expired");
      const decisions = (await typesOf(gate, id)).filter((type) => /approved|expired/.test(type));
      expect(decisions).toEqual([`action.${status}`]);
    }
  },
  120_000,
);

test("of 20 concurrent claims of one command one succeeds", async () => {
  const gate = await createTestGate();
  const { actions } = gate.project;
  const input = { command: "echo hi" };
  const { action } = await actions.submit({ tool: "run_command", input }, agent);
  const claims = await Promise.allSettled(
    Array.from({ length: 20 }, () => actions.claim(action.id, {}, agent)),
  );
  expect(claims.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  expect((await typesOf(gate, action.id)).filter((type) => type === "action.started")).toHaveLength(
    1,
  );
});

test("of 20 concurrent rollbacks one restores the file and 19 conflict", async () => {
  const gate = await createTestGate({ files: { "a.txt": "v1" } });
  const { actions } = gate.project;
  const input = { path: "a.txt", content: "v2" };
  const { action } = await actions.submit({ tool: "write_file", input }, agent);
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => ask(gate, action.id, "rollback")),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(409)]);
  expect(readFileSync(join(gate.root, "a.txt"), "utf8")).toBe("v1");
});

test("identical concurrent submissions share one action; different and later ones do not", async () => {
  const gate = await createTestGate({ policies: { defaultEffect: "ask" } });
  const { actions } = gate.project;
  const submit = (content = "x", path = "a.txt") =>
    actions.submit({ tool: "write_file", input: { path, content } }, agent);
  const all = await Promise.all(Array.from({ length: 20 }, () => submit()));
  expect(new Set(all.map(({ action }) => action.id)).size).toBe(1);
  expect(await gate.project.countPending()).toBe(1);
  expect((await submit("y")).action.id).not.toBe(all[0]!.action.id);
  gate.clock.advance(10 * 60_000 + 1);
  expect((await submit()).action.id).not.toBe(all[0]!.action.id);
  const events = await gate.audit();
  expect(events.filter(({ type }) => type === "action.submitted")).toHaveLength(3);
});

test("100 concurrent writes, 50 of them to one file, leave whole files and a valid chain", async () => {
  const gate = await createTestGate();
  const { actions } = gate.project;
  const write = (path: string, content: string) =>
    actions.submit({ tool: "write_file", input: { path, content } }, agent);
  const many = Array.from({ length: 50 }, (_, n) => write(`many/${n}.txt`, `${n}`));
  const one = Array.from({ length: 50 }, (_, n) => write("one.txt", `${n}`.repeat(1000)));
  for (const { action } of await Promise.all(many)) expect(action.execution).toBe("succeeded");
  const ends = await Promise.all(one);
  const done = ends.filter(({ action }) => action.execution === "succeeded");
  expect(done.length).toBeGreaterThan(0);
  for (const { action } of ends) expect(["succeeded", "failed"]).toContain(action.execution);
  const text = readFileSync(join(gate.root, "one.txt"), "utf8");
  expect(text).toBe(text.slice(0, text.length / 1000).repeat(1000));
  expect(await gate.project.audit.verify()).toMatchObject({ ok: true });
});
