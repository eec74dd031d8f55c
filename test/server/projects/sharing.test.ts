import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import {
  ask,
  contentOf,
  joinServer,
  leaveServer,
  openMachine,
  stageTwoMachines,
  write,
} from "./two_machines.ts";
import { startSqlServer } from "../db/sqld.ts";
import { createTempFolder } from "../../temp_folder.ts";

const soon = { timeout: 5_000, interval: 20 };

test("an approval on one machine is executed on the one whose agent asked, once", async () => {
  const { first, second } = await stageTwoMachines();
  const { body: held } = await write(first, "held/a.txt");
  expect(held).toMatchObject({ status: "pending" });
  await vi.waitFor(async () => {
    const { body } = await ask(second, "GET", "/api/actions?status=pending");
    expect(body.items).toMatchObject([{ id: held.id, path: "held/a.txt" }]);
  }, soon);
  const shown = await ask(second, "GET", `/api/actions/${held.id}`);
  expect(shown.body).toMatchObject({ machine: expect.any(String), obstacle: null, base: null });

  const approved = await ask(second, "POST", `/api/actions/${held.id}/approve`, {});
  expect(approved).toMatchObject({ status: 200, body: { status: "approved", execution: "none" } });
  await vi.waitFor(() => expect(contentOf(first, "held/a.txt")).toBe("held/a.txt"), soon);
  await vi.waitFor(async () => {
    const { body } = await ask(second, "GET", `/api/actions/${held.id}`);
    expect(body).toMatchObject({ execution: "succeeded" });
  }, soon);
  expect(contentOf(second, "held/a.txt")).toBe(null);
  const events = await second.audit();
  const own = events.filter(({ action_id }) => action_id === held.id).map(({ type }) => type);
  expect(own).toEqual([
    "action.submitted",
    "action.approved",
    "action.started",
    "action.finished",
  ]);
  for (const gate of [first, second]) {
    expect((await ask(gate, "GET", "/api/audit/verify")).body).toMatchObject({ ok: true });
  }
});

test("an agent that waits hears of an approval on another machine within a second", async () => {
  const { first, second } = await stageTwoMachines();
  const { body: held } = await write(first, "held/a.txt");
  const waiting = ask(first, "POST", `/api/actions/${held.id}/wait`, { timeout_ms: 30_000 });
  expect((await ask(second, "POST", `/api/actions/${held.id}/approve`, {})).status).toBe(200);
  expect((await waiting).body).toMatchObject({ execution: "succeeded" });
});

test("an approval elsewhere that cannot be taken up at once is taken up again, once", async () => {
  const { first, second } = await stageTwoMachines();
  const { body: held } = await write(first, "held/a.txt");
  const { ledger } = first.project;
  const all = ledger.all.bind(ledger);
  let failures = 2;
  const errors = () => first.logs.filter(({ level }) => level === "error");
  const spy = vi.spyOn(ledger, "all").mockImplementation((sql, args) =>
    args?.includes(held.id) && failures-- > 0
      ? Promise.reject(new Error("the disk sleeps"))
      : all(sql, args)
  );
  onTestFinished(() => spy.mockRestore());
  expect((await ask(second, "POST", `/api/actions/${held.id}/approve`, {})).status).toBe(200);
  for (const failed of [1, 2]) {
    await vi.waitFor(() => expect(errors()).toHaveLength(failed), soon);
    first.clock.advance(1_000);
  }
  await vi.waitFor(() => expect(contentOf(first, "held/a.txt")).toBe("held/a.txt"), soon);
  expect(errors()).toHaveLength(2);
  const events = await second.audit();
  expect(events.filter(({ type }) => type === "action.started")).toHaveLength(1);
});

test("both machines write, and each executes its own actions", async () => {
  const { first, second } = await stageTwoMachines();
  const all = await Promise.all(
    Array.from({ length: 10 }, (_, n) => [
      write(first, `first-${n}.txt`),
      write(second, `second-${n}.txt`),
    ]).flat(),
  );
  expect(all.map(({ status, body }) => [status, body.execution])).toEqual(
    all.map(() => [201, "succeeded"]),
  );
  for (let n = 0; n < 10; n++) {
    expect(contentOf(first, `first-${n}.txt`)).toBe(`first-${n}.txt`);
    expect(contentOf(first, `second-${n}.txt`)).toBe(null);
    expect(contentOf(second, `second-${n}.txt`)).toBe(`second-${n}.txt`);
  }
  for (const gate of [first, second]) {
    const verified = await ask(gate, "GET", "/api/audit/verify");
    expect(verified.body).toMatchObject({ ok: true });
    expect((await ask(gate, "GET", "/api/actions?limit=100")).body.items).toHaveLength(20);
  }
});

test("a machine ends no session of another one, and may reject what it holds", async () => {
  const { first, second } = await stageTwoMachines();
  const { body: held } = await write(first, "held/b.txt");
  const refused = await ask(second, "POST", `/api/sessions/${held.session_id}/end`, {});
  expect([refused.status, refused.body.detail]).toEqual([
    409,
    expect.stringContaining("another machine"),
  ]);
  const rejected = await ask(second, "POST", `/api/actions/${held.id}/reject`, { reason: "no" });
  expect(rejected.body).toMatchObject({ status: "rejected" });
  expect(contentOf(first, "held/b.txt")).toBe(null);
});

test("a machine leaves, the other goes on, and the last one takes the ledger back", async () => {
  const { first, second } = await stageTwoMachines();
  await write(second, "b.txt");
  const view = await ask(first, "GET", "/api/hub/storage");
  expect(view.body.ledgers[0].machines).toMatchObject([
    { is_this: true, is_connected: true },
    { is_this: false, is_connected: true },
  ]);
  const taken = await leaveServer(first, { whole: true });
  expect([taken.status, taken.body.detail]).toEqual([409, expect.stringContaining("use it now")]);

  const left = await leaveServer(second);
  expect(left).toMatchObject({ status: 200, body: { place: "here", ok: true } });
  expect(left.body.shared_with).toHaveLength(1);
  expect((await write(second, "alone.txt")).body).toMatchObject({ execution: "succeeded" });
  expect((await write(first, "c.txt")).body).toMatchObject({ execution: "succeeded" });
  const types =
    (await first.daemon.projects.get("test").then(({ ledger }) =>
      ledger.all("SELECT type FROM audit ORDER BY seq")
    )).map(({ type }) => type);
  expect(types).toContain("machine.left");

  const back = await leaveServer(first);
  expect(back).toMatchObject({ status: 200, body: { place: "here", ok: true, problem: null } });
  expect((await write(first, "d.txt")).body).toMatchObject({ execution: "succeeded" });
  expect((await ask(first, "GET", "/api/audit/verify")).body).toMatchObject({ ok: true });
  // Both can share again.
  expect(await joinServer(first)).toMatchObject({ status: 200, body: { ok: true } });
  expect(await joinServer(second, { shared: true })).toMatchObject({ status: 200 });
  expect((await write(second, "e.txt")).body).toMatchObject({ execution: "succeeded" });
});

test("a restarted machine executes what was approved meanwhile", async () => {
  const { first, second } = await stageTwoMachines();
  const { body: held } = await write(first, "held/a.txt");
  await first.daemon.close();
  expect((await ask(second, "POST", `/api/actions/${held.id}/approve`, {})).status).toBe(200);
  await second.reopen();
  expect(contentOf(second, "held/a.txt")).toBe(null);
  await first.open();
  await vi.waitFor(() => expect(contentOf(first, "held/a.txt")).toBe("held/a.txt"), soon);
});

test.each(["at once", "at its next start"])(
  "a machine executes %s nothing that another one says its policy allowed",
  async (when) => {
    const { first, second } = await stageTwoMachines();
    const { body: written } = await write(first, "a.txt");
    rmSync(join(first.root, "a.txt"));
    if (when !== "at once") await first.daemon.close();
    const { ledger } = second.project;
    const id = second.environment.id();
    const columns = (await ledger.all("SELECT name FROM pragma_table_info('actions')"))
      .map(({ name }) => String(name));
    const forged: Record<string, string> = {
      ...{ id: `'${id}'`, number: "number + 1000", seq: "seq + 1000" },
      ...{ execution: "'none'", claim_id: "NULL" },
      ...{ started_at: "NULL", finished_at: "NULL" },
    };
    await ledger.commit({
      statements: [{
        sql: `INSERT INTO actions (${columns.join(", ")})
          SELECT ${columns.map((name) => forged[name] ?? name).join(", ")}
          FROM actions WHERE id = ?`,
        args: [written.id],
      }],
      events: [{
        ...{ session_id: written.session_id, action_id: id, type: "action.approved" },
        actor: { kind: "policy", id: "policy" },
        data: { status: "approved", digest: written.digest },
      }],
    });
    if (when !== "at once") await first.open();
    await vi.waitFor(async () => {
      const { body } = await ask(first, "GET", `/api/actions/${id}`);
      expect(body).toMatchObject({
        ...{ status: "approved", execution: "failed" },
        error: expect.stringContaining("nobody approved it"),
      });
    }, soon);
    expect(contentOf(first, "a.txt")).toBe(null);
  },
);

test("a machine recovers no execution that another one says was running", async () => {
  const { first, second } = await stageTwoMachines();
  const { body: written } = await write(first, "a.txt");
  rmSync(join(first.root, "a.txt"));
  await first.daemon.close();
  const { ledger } = second.project;
  const [id, intent] = [second.environment.id(), second.environment.id()];
  const copy = async (table: string, replaced: Record<string, string>, where: string) => {
    const columns = (await ledger.all("SELECT name FROM pragma_table_info(?)", [table]))
      .map(({ name }) => String(name));
    return `INSERT INTO ${table} (${columns.join(", ")})
      SELECT ${
      columns.map((name) => replaced[name] ?? name).join(", ")
    } FROM ${table} WHERE ${where}`;
  };
  const own = {
    ...{ id: `'${id}'`, number: "number + 1000", seq: "seq + 1000" },
    ...{ execution: "'running'", finished_at: "NULL" },
  };
  const temporary = `.gate-${intent.replaceAll("-", "")}`;
  const open = {
    ...{ id: `'${intent}'`, action_id: `'${id}'`, state: "'open'", settled_at: "NULL" },
    data: `json_set(data, '$.temporary', '${temporary}')`,
  };
  const event = (type: "action.approved" | "action.started", kind: "policy" | "system") => ({
    ...{ session_id: written.session_id, action_id: id, type },
    actor: { kind, id: kind === "policy" ? "policy" : "gate" },
    data: { status: "approved", digest: written.digest },
  });
  await ledger.commit({
    statements: [
      { sql: await copy("actions", own, "id = ?"), args: [written.id] },
      { sql: await copy("intents", open, "action_id = ?"), args: [written.id] },
    ],
    events: [event("action.approved", "policy"), event("action.started", "system")],
  });
  await first.open();
  await vi.waitFor(async () => {
    const { body } = await ask(first, "GET", `/api/actions/${id}`);
    expect(body).toMatchObject({
      execution: "failed",
      error: expect.stringContaining("this machine did not start it"),
    });
  }, soon);
  expect(contentOf(first, "a.txt")).toBe(null);
});

test("a machine that was killed recovers its own execution of a shared ledger", async () => {
  const { first } = await stageTwoMachines();
  first.environment.fault = (at) => {
    if (at === "applied") throw new Error("killed");
  };
  await write(first, "a.txt");
  delete first.environment.fault;
  await first.reopen();
  const { body } = await ask(first, "GET", "/api/actions");
  expect(body.items).toMatchObject([{ path: "a.txt", execution: "succeeded", error: null }]);
});

test("two machines of one host name have different names, and a dry run says why nothing is dropped", async () => {
  const { first, second } = await stageTwoMachines();
  const { body } = await ask(first, "GET", "/api/hub/storage");
  const names = body.ledgers[0].machines.map(({ name }: { name: string }) => name);
  expect(new Set(names).size).toBe(2);
  for (const { id, name } of body.ledgers[0].machines) expect(name).toContain(id.slice(0, 8));
  const { body: held } = await write(first, "held/a.txt");
  const shown = await ask(second, "GET", `/api/actions/${held.id}`);
  expect(shown.body.machine).toBe(names[0]);

  const dry = await ask(first, "POST", "/api/retention/gc", { dry_run: true, days: 1 });
  expect(dry).toMatchObject({
    status: 200,
    body: { obstacle: expect.stringContaining(`other machines share the ledger (${names[1]})`) },
  });
  expect(await leaveServer(second)).toMatchObject({ status: 200 });
  const alone = await ask(first, "POST", "/api/retention/gc", { dry_run: true, days: 1 });
  expect(alone.body).toMatchObject({ dropped: { contents: 0 }, obstacle: null });
});

test("a machine keeps a log that verifies when a newer release records events that it does not know", async () => {
  const { first, second } = await stageTwoMachines();
  await second.project.ledger.commit({
    statements: [],
    events: [{
      ...{ session_id: null, action_id: null, type: "later.happened" as "quota.reached" },
      actor: { kind: "system", id: "gate" },
      data: { later: true },
    }],
  });
  await first.project.ledger.sync();
  for (
    const path of ["/api/audit/verify", "/api/audit/export?format=json", "/api/analytics/summary"]
  ) {
    expect([path, (await ask(first, "GET", path)).status]).toEqual([path, 200]);
  }
  expect((await ask(first, "GET", "/api/audit/verify")).body).toMatchObject({ ok: true });
  expect((await write(first, "a.txt")).body).toMatchObject({ execution: "succeeded" });
  await first.reopen();
  expect((await ask(first, "GET", "/api/audit/verify")).body).toMatchObject({ ok: true });
});

test("only a ledger that another machine has there can be shared", async () => {
  const server = await startSqlServer(createTempFolder("sqld"));
  const gate = await openMachine(server);
  const refused = await joinServer(gate, { shared: true });
  expect([refused.status, refused.body.detail]).toEqual([
    409,
    expect.stringContaining("no machine has it there"),
  ]);
  expect((await write(gate, "a.txt")).body).toMatchObject({ execution: "succeeded" });
});
