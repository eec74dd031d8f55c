import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { as, openStage, TWO_OF_THREE } from "./stage.ts";

test("an action under a route needs as many approvals as its quorum; each is a vote", async () => {
  const { gate, ask, hold, approve, story } = await openStage(TWO_OF_THREE);
  const { id } = await hold();
  expect((await ask("ann", "GET", `/api/actions/${id}/status`)).body)
    .toMatchObject({ status: "pending", approvals: { need: 2, have: 0 } });
  const first = await approve("ann", id);
  expect(first).toMatchObject({
    status: 202,
    body: { status: "pending", approvals: { need: 2, have: 1 } },
  });
  expect(existsSync(join(gate.root, "held/1.txt"))).toBe(false);
  const { body: pending } = await ask("ben", "GET", "/api/approvals/pending");
  expect(pending.items).toMatchObject([{
    action: { id },
    route_id: "two",
    need: 2,
    have: 1,
    asked: ["ben", "cy"],
    answered: [{ member_id: "ann", verdict: "approve" }],
    deadline: "2026-01-02T00:00:00.000Z",
  }]);
  const { body: detail } = await ask("ben", "GET", `/api/actions/${id}`);
  expect(detail.approvals).toMatchObject({
    route: { id: "two", name: "Two" },
    need: 2,
    have: 1,
    asked: [{ id: "ben", name: "Ben" }, { id: "cy", name: "Cy" }],
    answered: [{ member_id: "ann", name: "Ann", verdict: "approve" }],
  });
  const second = await approve("cy", id);
  expect(second).toMatchObject({
    status: 200,
    body: { status: "approved", execution: "succeeded", decided_by: "cy" },
  });
  expect(second.body.approvals).toBeUndefined();
  expect(readFileSync(join(gate.root, "held/1.txt"), "utf8")).toBe("content held/1.txt\n");
  expect(await story(id)).toEqual([
    "action.submitted",
    "vote.cast ann",
    "vote.cast cy",
    "action.approved cy",
    "action.started",
    "action.finished",
  ]);
  expect((await ask("ann", "GET", `/api/actions/${id}/status`)).body)
    .toMatchObject({ status: "approved", approvals: { need: 2, have: 2 } });
  expect((await ask("ben", "GET", "/api/approvals/pending")).body).toEqual({ items: [] });
  expect((await ask("ann", "GET", "/api/audit/verify")).body).toMatchObject({ ok: true });
});

test("a second vote of the same member changes nothing", async () => {
  const { gate, hold, approve } = await openStage(TWO_OF_THREE);
  const { id } = await hold();
  await approve("ann", id);
  const before = await gate.audit();
  for (let i = 0; i < 3; i++) {
    expect(await approve("ann", id)).toMatchObject({
      status: 202,
      body: { status: "pending", approvals: { need: 2, have: 1 } },
    });
  }
  expect(await gate.audit()).toEqual(before);
  expect((await approve("ben", id)).body.status).toBe("approved");
  const late = await approve("ann", id);
  expect(late).toMatchObject({ status: 409, body: { current_status: "approved" } });
});

test("one rejection rejects, whoever approved before", async () => {
  const { ask, hold, approve, story } = await openStage(TWO_OF_THREE);
  const { id } = await hold();
  await approve("ann", id);
  const rejected = await ask("ben", "POST", `/api/actions/${id}/reject`, { reason: "no" });
  expect(rejected).toMatchObject({ status: 200, body: { status: "rejected", decided_by: "ben" } });
  expect((await story(id)).slice(1)).toEqual([
    "vote.cast ann",
    "vote.cast ben",
    "action.rejected ben",
  ]);
  expect((await approve("cy", id)).status).toBe(409);
  const { body } = await ask("ann", "GET", `/api/actions/${id}`);
  expect(body.approvals.answered).toMatchObject([
    { member_id: "ann", verdict: "approve" },
    { member_id: "ben", verdict: "reject" },
  ]);
});

describe("who may approve", () => {
  test("nobody but the approvers of the route, and no viewer", async () => {
    const { gate, ask, hold, approve } = await openStage(TWO_OF_THREE);
    const { id } = await hold();
    for (const who of ["dan", "reviewer", "eve"]) {
      const refused = await approve(who, id);
      expect([who, refused.status, refused.body.detail]).toEqual([
        who,
        403,
        who === "eve"
          ? expect.stringContaining("you are not in the team any more")
          : expect.stringContaining('route "Two" does not ask you; it asks ann, ben, cy'),
      ]);
    }
    await ask("reviewer", "PATCH", "/api/team/members/dan", { role: "viewer" });
    expect((await approve("dan", id)).body.detail).toContain("your role is viewer");
    expect((await gate.audit()).filter(({ type }) => type === "vote.cast")).toEqual([]);
  });

  test("the person who submitted the action never counts", async () => {
    const { gate, ask, approve } = await openStage(TWO_OF_THREE);
    const sent = { tool: "write_file", input: { path: "held/own.txt", content: "x" } };
    const { id } = await (await gate.request("POST", "/api/actions", sent, as("ann"))).json();
    const refused = await approve("ann", id);
    expect([refused.status, refused.body.detail])
      .toEqual([403, expect.stringContaining("you submitted it yourself")]);
    expect((await ask("ann", "GET", `/api/actions/${id}`)).body.approvals.asked)
      .toMatchObject([{ id: "ben" }, { id: "cy" }]);
    await approve("ben", id);
    expect((await approve("cy", id)).body.status).toBe("approved");
  });

  test("of an ordered route each member in their turn", async () => {
    const { hold, approve } = await openStage({ ...TWO_OF_THREE, ordered: true });
    const { id } = await hold();
    const early = await approve("ben", id);
    expect([early.status, early.body.detail])
      .toEqual([409, expect.stringContaining("it is the turn of ann")]);
    expect((await approve("ann", id)).status).toBe(202);
    expect((await approve("cy", id)).status).toBe(409);
    expect((await approve("ben", id)).body.status).toBe("approved");
  });

  test("everybody with the role, the owner of the machine among them", async () => {
    const { hold, approve } = await openStage({ approvers: { role: "reviewer" }, quorum: 3 });
    const { id } = await hold();
    expect((await approve("reviewer", id)).body.approvals).toEqual({ need: 3, have: 1 });
    expect((await approve("dan", id)).body.approvals).toEqual({ need: 3, have: 2 });
    expect((await approve("ann", id)).body.status).toBe("approved");
  });

  test("the vote of a member who has left the team does not count", async () => {
    const { ask, hold, approve } = await openStage({
      approvers: { role: "reviewer" },
      quorum: 2,
    });
    const { id } = await hold();
    await approve("ann", id);
    await ask("reviewer", "DELETE", "/api/team/members/ann");
    expect((await approve("ben", id)).body.approvals).toEqual({ need: 2, have: 1 });
    expect((await approve("cy", id)).body.status).toBe("approved");
  });
});

describe("an edit under a route", () => {
  const edit = { content: "edited\n" };

  test("makes another version: the approvals of the first one do not count for it", async () => {
    const { gate, ask, hold, approve, story } = await openStage(TWO_OF_THREE);
    const { id, digest } = await hold();
    await approve("ann", id);
    const edited = await ask("ben", "POST", `/api/actions/${id}/approve-with-edit`, edit);
    expect(edited).toMatchObject({
      status: 202,
      body: { status: "pending", edited: true, approvals: { need: 2, have: 1 } },
    });
    expect(edited.body.digest).not.toBe(digest);
    const stale = await approve("cy", id, { expected_digest: digest });
    expect(stale).toMatchObject({ status: 412 });
    expect((await ask("ann", "GET", "/api/audit/verify")).body).toMatchObject({ ok: true });
    expect((await approve("ann", id)).body.status).toBe("approved");
    expect(readFileSync(join(gate.root, "held/1.txt"), "utf8")).toBe("edited\n");
    expect((await story(id)).slice(1, 6)).toEqual([
      "vote.cast ann",
      "action.edited ben",
      "vote.cast ben",
      "vote.cast ann",
      "action.approved ann",
    ]);
    expect((await ask("ann", "GET", "/api/audit/verify")).body).toMatchObject({ ok: true });
  });

  test("by one person is not enough where the route says so", async () => {
    const { ask, hold, approve } = await openStage({
      ...TWO_OF_THREE,
      quorum: 1,
      edit_needs_other: true,
    });
    const { id } = await hold();
    const edited = await ask("ann", "POST", `/api/actions/${id}/approve-with-edit`, edit);
    expect(edited).toMatchObject({ status: 202, body: { approvals: { need: 2, have: 1 } } });
    expect((await approve("ann", id)).status).toBe(202);
    expect((await approve("ben", id)).body).toMatchObject({ status: "approved", edited: true });
    const other = await hold();
    expect((await approve("ann", other.id)).body.status).toBe("approved");
  });

  test("of a quorum of one decides at once where the route allows it", async () => {
    const { ask, hold } = await openStage({ ...TWO_OF_THREE, quorum: 1 });
    const { id } = await hold();
    const edited = await ask("ann", "POST", `/api/actions/${id}/approve-with-edit`, edit);
    expect(edited).toMatchObject({ status: 200, body: { status: "approved", edited: true } });
  });
});

test("no grant answers for a route, and no approval under it is remembered", async () => {
  const { gate, ask, hold, approve } = await openStage({
    ...TWO_OF_THREE,
    match: { paths: ["held/**"] },
  });
  const remember = { scope: "project", ttl_seconds: 3600, max_uses: 10, pattern: "**/*.txt" };
  const free = await (await gate.request("POST", "/api/actions", {
    tool: "write_file",
    input: { path: "free.txt", content: "x" },
  }, "agent")).json();
  expect((await approve("dan", free.id, { remember })).body.status).toBe("approved");
  const { id } = await hold();
  const refused = await approve("ann", id, { remember });
  expect([refused.status, refused.body.detail])
    .toEqual([400, expect.stringContaining('approve it without "remember"')]);
  expect((await ask("ann", "GET", `/api/actions/${id}/status`)).body.status).toBe("pending");
});

test("a route that asks more people since then holds for what waits already", async () => {
  const { ask, hold, approve } = await openStage({ ...TWO_OF_THREE, quorum: 1 });
  const { id } = await hold();
  await ask("reviewer", "PATCH", "/api/approval-routes/two", { quorum: 2 });
  expect((await approve("ann", id)).body.approvals).toEqual({ need: 2, have: 1 });
  await ask("reviewer", "PATCH", "/api/approval-routes/two", { quorum: 1 });
  const other = await hold();
  await ask("reviewer", "DELETE", "/api/approval-routes/two");
  expect((await approve("ann", other.id)).body.status).toBe("approved");
});

test("what is allowed takes no route", async () => {
  const { gate } = await openStage(TWO_OF_THREE, { policies: { defaultEffect: "allow" } });
  const sent = { tool: "write_file", input: { path: "a.txt", content: "x" } };
  const { status } = await (await gate.request("POST", "/api/actions", sent, "agent")).json();
  expect(status).toBe("approved");
});

test("votes survive a restart", async () => {
  const { gate, ask, hold, approve } = await openStage(TWO_OF_THREE);
  const { id } = await hold();
  await approve("ann", id);
  await gate.reopen();
  expect((await ask("ben", "GET", "/api/approvals/pending")).body.items)
    .toMatchObject([{ have: 1, asked: ["ben", "cy"] }]);
  expect((await approve("ben", id)).body).toMatchObject({ status: "approved" });
});

describe("bad input", () => {
  test.each(
    [
      ["GET", "/api/approvals/pending?project=none", 404],
      ["GET", "/api/escalations/pending?project=none", 404],
      ["GET", "/api/escalations/pending?project=a&project=b", 400],
      ["POST", "/api/actions/none/approve", 404],
    ] as const,
  )("%s %s", async (method, path, status) => {
    const { ask } = await openStage(TWO_OF_THREE);
    const answer = await ask("ann", method, path, method === "POST" ? {} : undefined);
    expect([answer.status, answer.body.code]).toEqual([
      status,
      status === 400 ? "invalid" : "not_found",
    ]);
  });
});
