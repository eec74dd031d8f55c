import { expect, test } from "vitest";
import { createTestGate } from "../../helpers.ts";
import { openStage, TWO_OF_THREE } from "../approvals/stage.ts";

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

test("one answer about several actions had its time for all of them", async () => {
  const { gate, ask, hold } = await openStage({ approvers: { members: ["ann", "ben"] } });
  const approve = async (who: string, wait_ms: number) => {
    const held = [];
    for (let n = 0; n < 6; n++) held.push(await hold());
    gate.clock.advance(wait_ms);
    const items = held.map(({ id, digest }) => ({ id, expected_digest: digest }));
    await ask(who, "POST", "/api/approvals/approve", { items });
  };
  // Six short texts need 1.5 seconds each.
  await approve("ann", 30_000);
  await approve("ben", 3_000);
  const read = async (path: string) => (await ask("ann", "GET", path)).body.reviewers;
  const reviewers = await read("/api/analytics/attention");
  expect(reviewers).toMatchObject([
    { reviewer: "ann", decisions: 6, quick: 0, longest_streak: 0, is_streak: false },
    { reviewer: "ben", decisions: 6, quick: 6, longest_streak: 6, is_streak: true },
  ]);
  expect(await read("/api/global/analytics/attention")).toEqual(reviewers);
  expect(await read("/api/global/analytics/attention?window=1d")).toEqual(reviewers);
});

test("an approval that does not decide counts for its member, once", async () => {
  const { gate, ask, hold, approve } = await openStage(TWO_OF_THREE);
  const [one, two] = [await hold(), await hold()];
  gate.clock.advance(60_000);
  await approve("ann", one.id);
  await approve("ben", one.id);
  await approve("ann", two.id);
  const { body } = await ask("ann", "GET", "/api/analytics/attention");
  expect(body.reviewers).toMatchObject([
    { reviewer: "ann", decisions: 2, approved: 2 },
    { reviewer: "ben", decisions: 1, approved: 1 },
  ]);
});

test.each(["x", "", "0d", "-1d", "99999d", "1.5d"])("window %j is refused", async (window) => {
  const { ask } = await openStage(TWO_OF_THREE);
  for (const path of ["/api/analytics/attention", "/api/global/analytics/attention"]) {
    expect((await ask("ann", "GET", `${path}?window=${window}`)).status).toBe(400);
  }
});
