import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Action, ActionDetail } from "../../../../server/actions/schema.ts";
import { checkShown } from "../../../../server/actions/show/check_shown.ts";
import { openStage, type Stage } from "../../grants/stage.ts";

// deno-lint-ignore no-explicit-any
type Body = any;
type Step = { tool: string; input: Record<string, unknown> };

const write = (path: string, content = `${path}\n`): Step => ({
  tool: "write_file",
  input: { path, content },
});
const run = (command: string): Step => ({ tool: "run_command", input: { command } });

async function openPlans(options?: Parameters<typeof openStage>[0]) {
  const stage = await openStage(options);
  const session_id = await stage.session();
  const take = async ({ tool, input }: Step, session = session_id) =>
    (await stage.call<Action>(
      "POST",
      "/api/actions",
      { tool, input, session_id: session },
      "agent",
    ))
      .body;
  const plan = async (steps: Step[], more: object = {}) =>
    await stage.call<Body>("POST", "/api/actions", {
      tool: "submit_plan",
      input: { title: "Rename the thing", steps, ...more },
      session_id,
    }, "agent");
  return {
    ...stage,
    session_id,
    take,
    plan,
    /** A plan that a person has approved. */
    async approved(steps: Step[], more: object = {}): Promise<string> {
      const { body } = await plan(steps, more);
      const answer = await stage.approve(body.id);
      expect(answer.body).toMatchObject({ status: "approved", execution: "succeeded" });
      return body.id;
    },
    detail: async (id: string) =>
      (await stage.call<ActionDetail>("GET", `/api/actions/${id}`)).body,
    used: async (id: string) =>
      (await stage.gate.audit()).filter((one) => one.action_id === id && one.type === "lease.used")
        .map(({ data }) => [data.step, data.used_by]),
  };
}

const APPROVED = { status: "approved", execution: "succeeded", decided_by: "policy" };

async function ran(stage: Stage, action: Action): Promise<Action> {
  return (await stage.finish(action)).body as unknown as Action;
}

test("one approval covers the steps, each once and in order; anything else is asked", async () => {
  const stage = await openPlans();
  const steps = [write("a.txt"), run("echo one"), write("b.txt")];
  const { status, body } = await stage.plan(steps);
  expect(status).toBe(202);
  expect(body).toMatchObject({ tool: "submit_plan", status: "pending", execution: "none" });
  // Nothing is allowed before the decision, and nothing was done by it.
  const early = await stage.take(write("c.txt"));
  expect(early.status).toBe("pending");
  expect((await stage.approve(body.id)).body).toMatchObject({ status: "approved" });
  const first = await stage.take(steps[0]!);
  expect(first).toMatchObject({ ...APPROVED, decision: { effect: "allow", lease_id: body.id } });
  expect(first.decision.reason).toContain('Step 1 of 3 of "Rename the thing"');
  const second = await stage.take(steps[1]!);
  expect(second).toMatchObject({ status: "approved", execution: "none" });
  expect(await ran(stage, second)).toMatchObject({ execution: "succeeded" });
  expect(await stage.take(write("other.txt"))).toMatchObject({ status: "pending" });
  const third = await stage.take(steps[2]!);
  expect(third).toMatchObject(APPROVED);
  expect(await stage.used(body.id)).toEqual([[1, first.id], [2, second.id], [3, third.id]]);
  // The plan is used up.
  expect(await stage.take(run("echo one"))).toMatchObject({ status: "pending" });
  const verified = await stage.call("GET", "/api/audit/verify");
  expect(verified.body).toMatchObject({ ok: true });
});

test("the card shows every step, and the digest covers what it shows", async () => {
  const stage = await openPlans({ files: { "b.txt": "old\n" } });
  const { body } = await stage.plan([write("a.txt"), run("echo one"), write("b.txt", "new\n")]);
  const detail = await stage.detail(body.id);
  expect(detail.lease).toMatchObject({
    title: "Rename the thing",
    seconds: 3600,
    ends_at: null,
    steps: [
      { number: 1, tool: "write_file", path: "a.txt", before: null, after: { text: "a.txt\n" } },
      { number: 2, tool: "run_command", command: "echo one" },
      { number: 3, path: "b.txt", before: { text: "old\n" }, after: { text: "new\n" } },
    ],
  });
  await checkShown(detail);
  const forged = (change: (copy: Body) => void) => {
    const copy = structuredClone(detail);
    change(copy);
    return checkShown(copy);
  };
  const cases: ((copy: Body) => void)[] = [
    ({ lease }) => lease.steps[0].after.text = "harmless\n",
    ({ lease }) => lease.steps[1].command = "echo two",
    ({ lease }) => lease.steps.pop(),
    ({ lease }) => lease.steps.reverse(),
    ({ lease }) => lease.title = "Another",
    ({ lease }) => lease.seconds = 60,
    ({ lease }) => lease.steps[0].questions = ["default", "project askPaths **"],
    (copy) => copy.lease = null,
  ];
  for (const change of cases) await expect(forged(change)).rejects.toThrow(/another|other ones/);
});

describe("the next step is asked as usual", () => {
  test.each<[string, (stage: Awaited<ReturnType<typeof openPlans>>) => Promise<Action>]>([
    ["out of order", async ({ approved, take }) => {
      await approved([write("a.txt"), write("b.txt")]);
      return await take(write("b.txt"));
    }],
    ["with another content", async ({ approved, take }) => {
      await approved([write("a.txt")]);
      return await take(write("a.txt", "other\n"));
    }],
    ["a second time", async ({ approved, take, gate }) => {
      await approved([write("a.txt")]);
      await take(write("a.txt"));
      rmSync(join(gate.root, "a.txt"));
      return await take(write("a.txt"));
    }],
    ["after its file changed", async ({ approved, take, gate }) => {
      gate.write("a.txt", "old\n");
      await approved([write("a.txt", "new\n")]);
      gate.write("a.txt", "changed by somebody else\n");
      return await take(write("a.txt", "new\n"));
    }],
    ["by another session", async ({ approved, take, session }) => {
      await approved([write("a.txt")]);
      return await take(write("a.txt"), await session());
    }],
    ["after the lease", async ({ approved, take, gate }) => {
      await approved([write("a.txt")], { lease_seconds: 60 });
      gate.clock.advance(60_000);
      return await take(write("a.txt"));
    }],
    ["after the clock was set back to before its approval", async ({ approved, take, gate }) => {
      await approved([write("a.txt")]);
      gate.clock.now -= 1;
      return await take(write("a.txt"));
    }],
    ["after the lease, although the clock was set back", async ({ approved, take, gate }) => {
      await approved([write("a.txt"), write("b.txt")], { lease_seconds: 60 });
      gate.clock.advance(59_999);
      await take(write("a.txt"));
      gate.clock.advance(1);
      gate.clock.now -= 30_000;
      return await take(write("b.txt"));
    }],
    ["after a step that failed", async (stage) => {
      await stage.approved([run("false"), write("a.txt")]);
      const failed = await stage.take(run("false"));
      const claim = await stage.call<Body>("POST", `/api/actions/${failed.id}/claim`, {}, "agent");
      const { claim_id } = claim.body;
      const said = { claim_id, exit_code: 1, output: "", truncated: false, duration_ms: 1 };
      await stage.call("POST", `/api/actions/${failed.id}/result`, said, "agent");
      return await stage.take(write("a.txt"));
    }],
    ["before an earlier one has ended", async ({ approved, take }) => {
      await approved([run("sleep 1"), write("a.txt")]);
      await take(run("sleep 1"));
      return await take(write("a.txt"));
    }],
    ["after the policy asks something else", async ({ approved, take, gate }) => {
      await approved([write("a.txt")]);
      gate.write("gate.config.json", config({ defaultEffect: "ask", askPaths: ["*.txt"] }));
      return await take(write("a.txt"));
    }],
    ["of a rejected plan", async ({ plan, take, call }) => {
      const { body } = await plan([write("a.txt")]);
      await call("POST", `/api/actions/${body.id}/reject`, {});
      return await take(write("a.txt"));
    }],
  ])("%s", async (_, play) => {
    const action = await play(await openPlans());
    expect(action).toMatchObject({ status: "pending", decision: { effect: "ask" } });
  });
});

const config = (policies: object) => JSON.stringify({ id: "test", policies });

test("a stricter policy holds: a denied step stays denied, also in the plan", async () => {
  const { approved, take, plan, gate } = await openPlans();
  await approved([write("a.txt")]);
  gate.write("gate.config.json", config({ defaultEffect: "ask", blockedPaths: ["a.txt"] }));
  expect(await take(write("a.txt"))).toMatchObject({ status: "blocked" });
  const again = await plan([write("b.txt"), write("a.txt")]);
  expect(again.body).toMatchObject({ status: "blocked", decision: { effect: "deny" } });
  expect(again.body.decision.reason).toMatch(/^Step 2 of 2: /);
});

test("a command of a plan is not run after the policy has become stricter, or the lease has ended", async () => {
  for (const end of ["policy", "time"]) {
    const stage = await openPlans();
    await stage.approved([run("echo one")], { lease_seconds: 60 });
    const step = await stage.take(run("echo one"));
    expect(step.status).toBe("approved");
    if (end === "time") stage.gate.clock.advance(60_000);
    else {
      const policies = { defaultEffect: "ask", blockedCommands: ["echo"] };
      stage.gate.write("gate.config.json", config(policies));
    }
    const claim = await stage.call<Body>("POST", `/api/actions/${step.id}/claim`, {}, "agent");
    expect(claim.status).toBe(409);
  }
});

test("the end of the session ends its plan", async () => {
  const stage = await openPlans();
  const id = await stage.approved([run("echo one"), write("a.txt")]);
  const step = await stage.take(run("echo one"));
  await stage.call("POST", `/api/sessions/${stage.session_id}/end`, {}, "agent");
  const claim = await stage.call<Body>("POST", `/api/actions/${step.id}/claim`, {}, "agent");
  expect(claim.status).toBe(409);
  const late = await stage.call<Body>("POST", "/api/actions", {
    ...write("a.txt"),
    session_id: stage.session_id,
  }, "agent");
  expect(late.status).toBeGreaterThanOrEqual(400);
  expect(await stage.used(id)).toHaveLength(1);
});

test("two submissions of the same step at once: one takes it, and no step is taken twice", async () => {
  for (let round = 0; round < 20; round++) {
    const stage = await openPlans();
    const id = await stage.approved([run("echo one"), run("echo two")]);
    const sent = Array.from({ length: 8 }, () => stage.take(run("echo one")));
    const answers = await Promise.all(sent);
    const took = new Set(
      answers.filter(({ status }) => status === "approved").map((one) => one.id),
    );
    expect(took.size).toBe(1);
    expect(await stage.used(id)).toEqual([[1, [...took][0]]]);
    await stage.gate.close();
  }
});

test("a step that the policy allows needs no approval, and the order counts it", async () => {
  const stage = await openPlans({ policies: { defaultEffect: "ask", allowedPaths: ["free/**"] } });
  const id = await stage.approved([write("free/a.txt"), write("b.txt")]);
  expect(await stage.take(write("b.txt"))).toMatchObject({ status: "pending" });
  const free = await stage.take(write("free/a.txt"));
  expect(free).toMatchObject(APPROVED);
  expect(free.decision.lease_id).toBeUndefined();
  // The held twin waits for a person; the next equal call takes the step.
  expect(await stage.take(write("b.txt"))).toMatchObject({ decision: { lease_id: id } });
});

test("a restart keeps the plan and its steps", async () => {
  const stage = await openPlans();
  const id = await stage.approved([write("a.txt"), write("b.txt")]);
  await stage.take(write("a.txt"));
  await stage.gate.reopen();
  expect(await stage.take(write("b.txt"))).toMatchObject({
    ...APPROVED,
    decision: { lease_id: id },
  });
});

test("an approval for another digest is refused, and a plan is neither remembered nor edited", async () => {
  const { plan, call } = await openPlans();
  const { body: { id } } = await plan([write("a.txt")]);
  const approve = (body: object) => call<Body>("POST", `/api/actions/${id}/approve`, body);
  expect((await approve({ expected_digest: "0".repeat(64) })).status).toBe(412);
  const remember = { scope: "session", ttl_seconds: 60, max_uses: 1 };
  expect((await approve({ remember })).status).toBe(400);
  const edited = await call<Body>("POST", `/api/actions/${id}/approve-with-edit`, { content: "x" });
  expect(edited.status).toBe(400);
  expect((await approve({ base_sha256: null })).status).toBeGreaterThanOrEqual(400);
});

describe("bad input", () => {
  test.each([
    [{ steps: [] }, "steps"],
    [{ steps: [{ tool: "submit_plan", input: {} }] }, "steps"],
    [{ steps: [{ tool: "rollback", input: {} }] }, "steps"],
    [{ steps: [write("a.txt")], title: " " }, "title"],
    [{ steps: [write("a.txt")], lease_seconds: 1 }, "lease_seconds"],
    [{ steps: [write("a.txt")], more: 1 }, "more"],
    [{ steps: [write("a.txt"), { tool: "write_file", input: { path: "b" } }] }, "step 2"],
    [{ steps: [{ tool: "delete_file", input: { path: "gone.txt" } }] }, "step 1"],
    [{ steps: [write("a.txt"), write("a.txt", "2")] }, "make one step of them"],
    [
      { steps: [write("a.txt"), { tool: "read_file", input: { path: "a.txt" } }] },
      "as step 1 leaves it",
    ],
    [{ steps: Array.from({ length: 51 }, (_, at) => write(`${at}.txt`)) }, "steps"],
  ])("%j", async (input, part) => {
    const { plan } = await openPlans();
    const { status, body } = await plan([], input);
    expect([status, JSON.stringify(body)]).toEqual([400, expect.stringContaining(part)]);
  });
});
