import { expect, test } from "vitest";
import { toResult } from "../../../../server/mcp/results.ts";
import { createTestGate, type TestGate } from "../../../helpers.ts";

async function hold(gate: TestGate) {
  gate.write("src/a.ts", "one\ntwo\nthree\n");
  const input = { path: "src/a.ts", content: "one\n  2\nthree\nfour\n" };
  const held = await gate.request("POST", "/api/actions", { tool: "write_file", input });
  return (await held.json()).id as string;
}

const reject = (gate: TestGate, id: string, body: unknown) =>
  gate.request("POST", `/api/actions/${id}/reject`, body);

test("the agent reads comments behind the reason, each with its file, line and text", async () => {
  const gate = await createTestGate({ policies: { defaultEffect: "ask" } });
  const id = await hold(gate);
  const comments = [
    { path: "src/a.ts", line: 2, text: "spell it out" },
    { path: "src/a.ts", line: 2, side: "before", text: "this was right" },
  ];
  const rejected = await reject(gate, id, { reason: "nearly", comments });
  expect(rejected.status).toBe(200);
  const reason = 'nearly\nsrc/a.ts:2 ("2"): spell it out\n' +
    'src/a.ts:2, before the change ("two"): this was right';
  const action = await rejected.json();
  expect(action.reason).toBe(reason);
  expect(toResult({ ...action, result: null }).structuredContent).toMatchObject({
    reason,
    message: expect.stringContaining(reason),
  });
  const event = (await gate.audit()).find(({ type }) => type === "action.rejected");
  expect(event?.data).toMatchObject({
    reason,
    comments: [{ ...comments[0], side: "after" }, comments[1]],
  });
});

test("comments need no reason", async () => {
  const gate = await createTestGate({ policies: { defaultEffect: "ask" } });
  const id = await hold(gate);
  const comments = [{ path: "src/a.ts", line: 4, text: "why?" }];
  const { reason } = await (await reject(gate, id, { comments })).json();
  expect(reason).toBe('src/a.ts:4 ("four"): why?');
});

test.each([
  ["another file", { path: "src/b.ts", line: 1, text: "x" }, "the action does not change"],
  ["a line beyond the end", { path: "src/a.ts", line: 9, text: "x" }, "has no line 9"],
  ["no text", { path: "src/a.ts", line: 1, text: "  " }, "text"],
  ["line 0", { path: "src/a.ts", line: 0, text: "x" }, "line"],
])("a comment on %s is refused, and the action stays held", async (_what, comment, why) => {
  const gate = await createTestGate({ policies: { defaultEffect: "ask" } });
  const id = await hold(gate);
  const refused = await reject(gate, id, { comments: [comment] });
  expect(refused.status).toBe(400);
  expect(await refused.text()).toContain(why);
  const { status } = await (await gate.request("GET", `/api/actions/${id}`)).json();
  expect(status).toBe("pending");
});

test("comments that are too long together are refused", async () => {
  const gate = await createTestGate({ policies: { defaultEffect: "ask" } });
  const id = await hold(gate);
  const comments = Array.from(
    { length: 10 },
    () => ({ path: "src/a.ts", line: 1, text: "x".repeat(2000) }),
  );
  expect((await reject(gate, id, { comments })).status).toBe(400);
});

test("an answer is said to be one, and what is settled is recorded", async () => {
  const gate = await createTestGate({ policies: { defaultEffect: "ask" } });
  const first = await hold(gate);
  const comment = { path: "src/a.ts", line: 4, text: "why?" };
  await reject(gate, first, { comments: [comment] });
  const second = await hold(gate);
  const answer = { ...comment, text: "still", answers: `${first}/0` };
  const settled = [`${first}/1`];
  const { reason } = await (await reject(gate, second, { comments: [answer], settled })).json();
  expect(reason).toBe('src/a.ts:4 ("four"), again: still');
  const { timeline } = await (await gate.request("GET", `/api/actions/${second}`)).json();
  expect(timeline.at(-1).data).toMatchObject({ comments: [answer], settled });
});

test.each([["no id", "x"], ["no number", crypto.randomUUID()]])(
  "an answer that names a comment by %s is refused",
  async (_what, answers) => {
    const gate = await createTestGate({ policies: { defaultEffect: "ask" } });
    const id = await hold(gate);
    const comment = { path: "src/a.ts", line: 4, text: "why?", answers };
    expect((await reject(gate, id, { comments: [comment] })).status).toBe(400);
  },
);
