import { expect, test } from "vitest";
import { misbehave, openSession } from "./session.ts";

test("recommends calls that work", async () => {
  const { gate, session_id, submit, post } = await openSession();
  await submit("write_file", { path: "src/b.ts", content: "1" });
  expect((await post("recommend", { session_id })).body).toMatchObject([
    { strategy: "review_changes", score: 10 },
  ]);
  await misbehave(submit);
  const held = await submit("run_command", { command: "terraform apply" });
  const { body: advice } = await post("recommend", { session_id });
  const scores = advice.map(({ score }: { score: number }) => score);
  expect(scores).toEqual(scores.toSorted((a: number, b: number) => b - a));
  expect(advice.map(({ strategy }: { strategy: string }) => strategy)).toEqual(
    expect.arrayContaining([
      "reject_held",
      "rollback_risky_actions",
      "rollback_session",
      "end_session",
    ]),
  );
  for (const { call } of advice) {
    const answer = await gate.request(call.method, call.path, call.body ?? undefined);
    expect({ call, status: answer.status }).toMatchObject({ status: 200 });
  }
  expect(await (await gate.request("GET", `/api/actions/${held.id}`)).json()).toMatchObject({
    status: "rejected",
  });
  await gate.close();
});

test.each([
  [[], 400],
  [{ session_id: "none" }, 404],
  [{ session_id: "x".repeat(65) }, 400],
])("%j is answered with %d", async (body, status) => {
  const { gate, post } = await openSession();
  const answer = await post("recommend", body);
  expect(answer).toMatchObject({ status, body: { detail: expect.any(String) } });
  await gate.close();
});
