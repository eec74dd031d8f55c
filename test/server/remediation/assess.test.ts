import { expect, test } from "vitest";
import { openSession } from "./session.ts";

test("assesses an action, a session and a rollback of either", async () => {
  const { gate, session_id, submit, post } = await openSession();
  const plain = await submit("write_file", { path: "src/a.ts", content: "new" });
  const ci = await submit("write_file", { path: ".github/workflows/ci.yml", content: "on: push" });
  expect(await post("assess", { action_id: ci.id })).toEqual({ status: 200, body: ci.risk });
  expect(ci.risk).toMatchObject({ level: "high" });
  const session = await post("assess", { session_id });
  expect(session.body).toMatchObject({ level: "high" });
  expect(session.body.score).toBeGreaterThanOrEqual(ci.risk.score);
  const before = await post("assess", { action_id: plain.id, rollback: true });
  expect(before.body.level).toBe("low");
  await submit("write_file", { path: "src/a.ts", content: "newer" });
  const after = await post("assess", { action_id: plain.id, rollback: true });
  expect(after.body.factors).toContainEqual(expect.objectContaining({ name: "changed_later" }));
  expect(after.body.level).toBe("medium");
  const whole = await post("assess", { session_id, rollback: true });
  expect(whole.body.factors).not.toContainEqual(expect.objectContaining({ name: "changed_later" }));
  expect(await post("assess", { session_id })).toEqual(await post("assess", { session_id }));
  await gate.close();
});

test.each([
  [{}, 400],
  [{ action_id: "a", session_id: "b" }, 400],
  [{ action_id: "none" }, 404],
  [{ action_id: "\0" }, 404],
  [{ session_id: "none" }, 404],
  [{ session_id: "a\0b", rollback: true }, 404],
  [{ session_id: 3 }, 400],
  [{ session_id: "x", more: 1 }, 400],
])("%j is answered with %d", async (body, status) => {
  const { gate, post } = await openSession();
  const answer = await post("assess", body);
  expect(answer).toMatchObject({ status, body: { detail: expect.any(String) } });
  await gate.close();
});
