import { expect, test } from "vitest";
import { openSessions } from "./harness.ts";

test("a session is rolled back newest first, and so that it can be undone", async () => {
  const files = { "a.txt": "a0\n", "d.txt": "d0\n", "m.txt": "m0\n" };
  const { gate, ask, open, submit, write, back, part, read } = await openSessions({ files });
  const session = await open("codex");
  const first = await write(session, "a.txt", "a1\n");
  await write(session, "new/b.txt", "b1\n");
  const second = await write(session, "a.txt", "a2\n");
  await submit(session, "delete_file", { path: "d.txt" });
  await submit(session, "move_file", { from: "m.txt", to: "n.txt" });
  await submit(session, "read_file", { path: "a.txt" });
  gate.events.length = 0;

  const planned = await back(session, { dry_run: true });
  expect(planned).toMatchObject({ status: 200, body: { dry_run: true, rollback_state: "none" } });
  expect(planned.body.actions).toHaveLength(5);
  expect([read("a.txt"), read("d.txt"), read("n.txt")]).toEqual(["a2\n", null, "m0\n"]);
  expect(gate.events).toEqual([]);

  const done = await back(session, { reason: "not wanted" });
  expect(done).toMatchObject({
    status: 200,
    body: { session_id: session, dry_run: false, rollback_state: "full", skipped: [] },
  });
  const order = done.body.actions.map(({ action_id }: { action_id: string }) => action_id);
  expect(order.indexOf(second)).toBeLessThan(order.indexOf(first));
  expect([read("a.txt"), read("new/b.txt"), read("d.txt"), read("m.txt"), read("n.txt")])
    .toEqual(["a0\n", null, "d0\n", "m0\n", null]);
  const rolled = gate.events.filter(({ type }) => type === "action.rolled_back");
  expect(rolled.map(({ topic }) => topic).sort())
    .toEqual([...Array(5).fill("actions"), ...Array(5).fill("sessions")]);
  expect(await back(session)).toMatchObject({ status: 200, body: { actions: [] } });

  const undo = done.body.actions.map(({ rollback_id }: { rollback_id: string }) => rollback_id);
  expect(await part(session, undo)).toMatchObject({
    status: 200,
    body: { rollback_state: "none" },
  });
  expect([read("a.txt"), read("new/b.txt"), read("d.txt"), read("m.txt"), read("n.txt")])
    .toEqual(["a2\n", "b1\n", null, null, "m0\n"]);
  const { body } = await ask("GET", `/api/actions/${second}/status`);
  expect(body.status).toBe("approved");
  expect(await gate.project.audit.verify()).toMatchObject({ ok: true });
});

test("nothing is touched where one file has changed since, and every conflict is told", async () => {
  const files = { "a.txt": "a0\n", "b.txt": "b0\n", "c.txt": "c0\n" };
  const { gate, open, write, back, read } = await openSessions({ files });
  const session = await open("codex");
  const a = await write(session, "a.txt", "a1\n");
  await write(session, "b.txt", "b1\n");
  await write(session, "c.txt", "c0\nc1\n");
  gate.write("a.txt", "by hand\n");
  gate.write("c.txt", "top\nc0\nc1\n");

  const refused = await back(session);
  expect(refused).toMatchObject({
    status: 409,
    body: {
      code: "conflict",
      conflicts: [{ files: [{ path: "c.txt" }] }, {
        action_id: a,
        diff: expect.stringContaining("-a1\n+by hand\n"),
      }],
    },
  });
  expect([read("a.txt"), read("b.txt"), read("c.txt")])
    .toEqual(["by hand\n", "b1\n", "top\nc0\nc1\n"]);

  // One line was changed on both sides: merging cannot help, so nothing is touched either.
  expect(await back(session, { on_conflict: "merge" })).toMatchObject({
    status: 409,
    body: { conflicts: [{ action_id: a }] },
  });
  expect(read("c.txt")).toBe("top\nc0\nc1\n");
  const forced = await back(session, { on_conflict: "force" });
  expect(forced).toMatchObject({ status: 200, body: { rollback_state: "full" } });
  expect([read("a.txt"), read("b.txt"), read("c.txt")]).toEqual(["a0\n", "b0\n", "c0\n"]);
});

test("merging follows a file through several writes", async () => {
  const { gate, open, write, back, read } = await openSessions({ files: { a: "1\n2\n3\n4\n5\n" } });
  const session = await open("codex");
  await write(session, "a", "one\n2\n3\n4\n5\n");
  await write(session, "a", "one\n2\n3\n4\nfive\n");
  gate.write("a", "one\n2\nTHREE\n4\nfive\n");
  expect(await back(session, { on_conflict: "merge" })).toMatchObject({
    status: 200,
    body: { actions: [{ outcome: "merged" }, { outcome: "merged" }], rollback_state: "full" },
  });
  expect(read("a")).toBe("1\n2\nTHREE\n4\n5\n");
});

test("a selection that a later write depends on is refused, and the write named", async () => {
  const { open, write, part, back, read } = await openSessions({ files: { a: "0" } });
  const [mine, theirs] = [await open("codex"), await open("claude")];
  const first = await write(mine, "a", "1");
  const second = await write(mine, "a", "2");
  const free = await write(mine, "b", "b");
  expect(await part(mine, [first])).toMatchObject({
    status: 409,
    body: { dependents: [{ action_id: second, session_id: mine, path: "a" }] },
  });
  const third = await write(theirs, "a", "3");
  const dependents = [{ action_id: third, session_id: theirs, path: "a" }];
  expect(await back(mine)).toMatchObject({ status: 409, body: { dependents } });
  expect(await part(mine, [free])).toMatchObject({
    status: 200,
    body: { rollback_state: "partial" },
  });
  expect([read("a"), read("b")]).toEqual(["3", null]);

  expect(await back(theirs)).toMatchObject({ status: 200 });
  expect(await part(mine, [first, second])).toMatchObject({
    status: 200,
    body: { rollback_state: "full" },
  });
  expect(read("a")).toBe("0");
});

test("commands are told of, not passed over in silence; what is held stays held", async () => {
  const policies = { defaultEffect: "allow" as const, askPaths: ["held"] };
  const { ask, open, submit, write, back } = await openSessions({ policies });
  const session = await open("codex");
  const command = await submit(session, "run_command", { command: "true" });
  const { body: { claim_id } } = await ask("POST", `/api/actions/${command.id}/claim`, {});
  const came = { claim_id, exit_code: 0, output: "", truncated: false, duration_ms: 1 };
  await ask("POST", `/api/actions/${command.id}/result`, came);
  const held = await submit(session, "write_file", { path: "held", content: "x" });
  const written = await write(session, "a", "1");
  expect(await back(session)).toMatchObject({
    status: 200,
    body: {
      actions: [{ action_id: written }],
      skipped: [{ action_id: command.id, tool: "run_command", why: expect.any(String) }],
    },
  });
  const { body } = await ask("GET", `/api/actions/${held.id}/status`);
  expect(body.status).toBe("pending");
});

test("who asks for what cannot be is told why", async () => {
  const { ask, open, write, part } = await openSessions();
  const [mine, theirs] = [await open("codex"), await open("claude")];
  const id = await write(mine, "a", "1");
  const rollback = `/api/sessions/${mine}/rollback`;
  const unknown = "00000000-0000-7000-8000-000000000000";
  expect(await ask("POST", rollback, {}, "agent")).toMatchObject({ status: 403 });
  expect(await ask("POST", rollback, {}, "viewer")).toMatchObject({ status: 403 });
  expect(await ask("POST", "/api/sessions/none/rollback", {})).toMatchObject({ status: 404 });
  expect(await ask("GET", "/api/sessions/none/diff")).toMatchObject({ status: 404 });
  expect(await part(theirs, [id])).toMatchObject({ status: 404 });
  expect(await part(mine, [unknown])).toMatchObject({ status: 404 });
  expect(await part(mine, [])).toMatchObject({ status: 400 });
  expect(await part(mine, [id], { on_conflict: "maybe" })).toMatchObject({ status: 400 });
  expect(await part(mine, [id, id])).toMatchObject({ status: 200 });
  expect(await part(mine, [id])).toMatchObject({ status: 409 });
});

test("what cannot be finished is taken back", async () => {
  let broken = "";
  let hit = 0;
  const { gate, open, write, back, read } = await openSessions({
    fault: (step) => {
      // Somebody changes the next file after everything was verified.
      if (step === "applied" && broken && ++hit === 1) gate.write(broken, "meanwhile");
    },
  });
  const session = await open("codex");
  await write(session, "a", "1");
  await write(session, "b", "1");
  broken = "a";
  expect(await back(session)).toMatchObject({ status: 409, body: { code: "conflict" } });
  expect([read("a"), read("b")]).toEqual(["meanwhile", "1"]);
  const { rollback_state } = await gate.project.sessions.get(session);
  expect(rollback_state).toBe("none");
  expect(await gate.project.audit.verify()).toMatchObject({ ok: true });
});

test("of many rollbacks at once one undoes, and the others find nothing to do", async () => {
  const { gate, open, write, back, read } = await openSessions({ files: { a: "0" } });
  const session = await open("codex");
  await write(session, "a", "1");
  const answers = await Promise.all(Array.from({ length: 8 }, () => back(session)));
  expect(answers.map(({ status, body }) => [status, body.actions.length]).sort())
    .toEqual([...Array(7).fill([200, 0]), [200, 1]]);
  expect(read("a")).toBe("0");
  const events = await gate.audit();
  expect(events.filter(({ type }) => type === "action.rolled_back")).toHaveLength(1);
});
