import { expect, test } from "vitest";
import { createTestGate } from "../../helpers.ts";

test("attention: time against length, quick approvals of risky actions, streaks", async () => {
  const gate = await createTestGate({ policies: { defaultEffect: "ask" } });
  const hold = async (path: string, content: string) =>
    await (await gate.request("POST", "/api/actions", {
      tool: "write_file",
      input: { path, content },
    }, "agent")).json();
  const decide = (id: string, verb: "approve" | "reject") =>
    gate.request("POST", `/api/actions/${id}/${verb}`, {});
  const read = async (query = "") =>
    await (await gate.request("GET", `/api/analytics/attention${query}`)).json();
  expect(await read()).toEqual({ window: "30d", reviewers: [] });

  const held = [];
  for (let n = 0; n < 5; n++) held.push(await hold(`src/${n}.ts`, "x".repeat(6_000)));
  held.push(await hold(".github/workflows/a.yml", "on: push"));
  gate.clock.advance(120_000);
  for (const { id } of held) {
    expect((await decide(id, "approve")).status).toBe(200);
    gate.clock.advance(500);
  }
  const slow = await hold("a.txt", "x".repeat(60));
  gate.clock.advance(30_000);
  await decide(slow.id, "approve");
  const no = await hold("b.txt", "x");
  await decide(no.id, "reject");

  const { reviewers: [one] } = await read("?window=1d");
  // The first of the queue had two minutes, the next five half a second each.
  expect(one).toMatchObject({
    reviewer: "reviewer",
    decisions: 8,
    approved: 7,
    characters: 30_000 + 8 + 60 + 1,
    quick: 5,
    quick_risky: 1,
    longest_streak: 5,
    is_streak: true,
  });
  expect((await gate.request("GET", "/api/analytics/attention?window=x")).status).toBe(400);
  expect((await gate.request("GET", "/api/analytics/attention?window=")).status).toBe(400);
});
