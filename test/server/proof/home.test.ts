import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Database } from "../../../server/db/database.ts";
import { migrate } from "../../../server/db/migrate.ts";
import { REGISTRY_MIGRATIONS } from "../../../server/db/registry_migrations.ts";
import { canonical } from "../../../server/evidence/canonical.ts";
import { startGate } from "../../../server/start.ts";
import { startChild } from "../../child.ts";
import { createTestGate, testCaller, type TestGate } from "../../helpers.ts";
import { enrol, type Person, prove, type Send, sendTo, withPassphrase } from "./person.ts";

const ASK = { defaultEffect: "ask" as const };
const TOKEN = JSON.stringify({ approvals: { proof: "token" } });

async function enrolled(): Promise<{ gate: TestGate; send: Send; person: Person }> {
  const gate = await createTestGate({ proof: "none", policies: ASK });
  const [send, person] = [sendTo(gate), withPassphrase()];
  expect((await enrol(send, person)).status).toBe(200);
  return { gate, send, person };
}

async function hold(gate: TestGate, path = `${Math.random()}.txt`): Promise<string> {
  const input = { path, content: "x" };
  const { action } = await gate.project.actions.submit(
    { tool: "write_file", input },
    testCaller("agent"),
  );
  return `/api/actions/${action.id}/approve`;
}

const remove = (path: string) => rmSync(path, { force: true });
const registryOf = ({ home }: TestGate) => join(home, "gate.db");

/** Deletes gate.db with the files that SQLite keeps beside it. */
function dropRegistry(gate: TestGate): void {
  for (const end of ["", "-wal", "-shm"]) remove(`${registryOf(gate)}${end}`);
}

/** Changes gate.db as any program of the same user can. */
async function edit(gate: TestGate, statements: { sql: string; args: (string | number)[] }[]) {
  const database = await Database.open(registryOf(gate));
  await database.batch(statements);
  await database.close();
}

async function refuses(gate: TestGate): Promise<string> {
  const path = await hold(gate);
  const answer = await gate.request("POST", path, {});
  const problem = await answer.json();
  expect([answer.status, problem.code, problem.challenge]).toEqual([
    403,
    "proof_required",
    undefined,
  ]);
  const status = await (await gate.request("GET", "/api/proof")).json();
  expect(status.problem).not.toBeNull();
  expect(problem.detail).toContain(status.problem);
  return problem.detail;
}

/** The home is taken back with the key that the ledgers remember, and decides again. */
async function takeBack({ gate, send, person }: Awaited<ReturnType<typeof enrolled>>) {
  const next = withPassphrase();
  expect((await enrol(send, withPassphrase(), withPassphrase())).status).toBe(403);
  expect((await enrol(send, next, person)).status).toBe(200);
  expect((await prove(send, next, ["POST", await hold(gate)])).status).toBe(200);
  expect(await gate.project.audit.verify()).toMatchObject({ ok: true, problem: null });
}

describe("an enrolled home is not weakened by files", () => {
  test("a restart changes nothing", async () => {
    const { gate, send, person } = await enrolled();
    await gate.reopen();
    expect((await send("POST", await hold(gate), {})).status).toBe(403);
    expect((await prove(send, person, ["POST", await hold(gate)])).status).toBe(200);
  });

  test.each<[string, string | null]>([
    ["that says token", TOKEN],
    ["that says nothing", "{}"],
    ["that is broken", "{"],
    ["that is gone", null],
  ])("a global config %s", async (_, text) => {
    const { gate, send, person } = await enrolled();
    const path = join(gate.home, "config.json");
    const change = () => text === null ? remove(path) : writeFileSync(path, text);
    const held = await hold(gate);
    change();
    // Under a broken global config policy denies, so the approval is not possible at all.
    const refused = text === "{" ? 409 : 403;
    expect((await send("POST", held, {})).status).toBe(refused);
    await gate.reopen(change);
    expect((await send("POST", held, {})).status).toBe(refused);
    writeFileSync(path, "{}");
    expect((await prove(send, person, ["POST", await hold(gate)])).status).toBe(200);
  });

  test("gate.db deleted, also with a config that says token", async () => {
    const stage = await enrolled();
    await stage.gate.reopen(() => {
      dropRegistry(stage.gate);
      writeFileSync(join(stage.gate.home, "config.json"), TOKEN);
    });
    expect(await refuses(stage.gate)).toContain('"test" remembers a proof');
    const status = await (await stage.send("GET", "/api/proof")).json();
    expect(status).toMatchObject({
      kind: "passphrase",
      enrolled: [{ key_id: stage.person.key_id }],
    });
    expect((await enrol(stage.send, withPassphrase())).status).toBe(403);
    await takeBack(stage);
  });

  test("gate.db deleted under a running daemon", async () => {
    const { gate, send } = await enrolled();
    dropRegistry(gate);
    expect((await send("POST", await hold(gate), {})).status).toBe(403);
  });

  test("gate.db restored from before the enrolment", async () => {
    const gate = await createTestGate({ policies: ASK });
    const [send, person] = [sendTo(gate), withPassphrase()];
    const copy = join(gate.root, "../gate.db");
    await gate.reopen(() => copyFileSync(registryOf(gate), copy));
    expect((await enrol(send, person)).status).toBe(200);
    await gate.reopen(() => {
      dropRegistry(gate);
      copyFileSync(copy, registryOf(gate));
    });
    await refuses(gate);
    await takeBack({ gate, send, person });
  });

  test("gate.db restored from before the last change of the key", async () => {
    const { gate, send, person: first } = await enrolled();
    const copy = join(gate.root, "../gate.db");
    await gate.reopen(() => copyFileSync(registryOf(gate), copy));
    const second = withPassphrase();
    expect((await enrol(send, second, first)).status).toBe(200);
    await gate.reopen(() => {
      dropRegistry(gate);
      copyFileSync(copy, registryOf(gate));
    });
    await refuses(gate);
    expect((await enrol(send, withPassphrase(), first)).status).toBe(403);
    await takeBack({ gate, send, person: second });
  });

  test.each<[string, (data: Record<string, unknown>) => unknown]>([
    [
      "a swapped key",
      (data) => ({ ...data, key: { ...data.key as object, public_key: "A".repeat(43) } }),
    ],
    ["another person's key", (data) => ({ ...data, member_id: "mallory" })],
    ["a kind that needs none", (data) => ({ ...data, kind: "token", key: null })],
    ["nonsense", () => "x"],
  ])("gate.db edited: %s", async (_, change) => {
    const stage = await enrolled();
    const { gate } = stage;
    const [event] = (await gate.audit()).filter(({ type }) => type === "proof.changed");
    await gate.daemon.close();
    const data = canonical(change(event!.data));
    await edit(gate, [{ sql: "UPDATE proof_changes SET data = ?", args: [data] }]);
    await gate.open();
    await refuses(gate);
    // Whose key is right cannot be told, so no proof changes it; without gate.db the ledgers tell.
    expect((await enrol(stage.send, withPassphrase())).status).toBe(403);
    await gate.reopen(() => dropRegistry(gate));
    await takeBack(stage);
  });

  test("gate.db edited: a further change without a proof, or with one by another key", async () => {
    const { gate, send, person } = await enrolled();
    const [event] = (await gate.audit()).filter(({ type }) => type === "proof.changed");
    const { number: _, ...first } = event!.data;
    const next = { ...first, number: 2, kind: "token", key: null };
    await gate.daemon.close();
    const insert = "INSERT INTO proof_changes (number, data) VALUES (2, ?)";
    await edit(gate, [{ sql: insert, args: [canonical(next)] }]);
    await gate.open();
    expect(await refuses(gate)).toContain("gate.db's record of the proof was changed");
    expect((await gate.audit()).filter(({ type }) => type === "proof.changed")).toHaveLength(1);
    await gate.reopen(() => dropRegistry(gate));
    await takeBack({ gate, send, person });
  });

  test("gate.db edited: the changes deleted and another key enrolled before a ledger opens", async () => {
    const { gate, send, person } = await enrolled();
    await gate.daemon.close();
    await edit(gate, [{ sql: "DELETE FROM proof_changes", args: [] }, {
      sql: "UPDATE projects SET is_awake = 0",
      args: [],
    }]);
    writeFileSync(join(gate.home, "config.json"), TOKEN);
    await gate.open();
    const fresh = join(gate.root, "../fresh");
    mkdirSync(fresh);
    writeFileSync(join(fresh, "gate.config.json"), JSON.stringify({ id: "fresh", policies: ASK }));
    await gate.daemon.projects.register(fresh, { id: "reviewer", scope: "reviewer" });
    expect((await enrol(send, withPassphrase())).status).toBe(403);
    expect((await send("POST", "/api/proof/set", { kind: "token" })).status).toBe(403);
    await refuses(gate);
    await takeBack({ gate, send, person });
  });

  test("a ledger with another key is put in: nobody decides until it is gone", async () => {
    const { gate, send, person } = await enrolled();
    const other = await enrolled();
    await other.gate.daemon.close();
    await gate.reopen(() =>
      cpSync(join(other.gate.home, "projects/test"), join(gate.home, "projects/other"), {
        recursive: true,
      })
    );
    const ledger = await Database.open(join(gate.home, "projects/other/ledger.db"));
    await ledger.batch([{ sql: "DROP TRIGGER audit_no_update", args: [] }, {
      sql: "UPDATE audit SET project_id = 'other'",
      args: [],
    }]);
    await ledger.close();
    await gate.reopen();
    await refuses(gate);
    expect((await enrol(send, other.person)).status).toBe(403);
    await gate.reopen(() =>
      renameSync(join(gate.home, "projects/other"), join(gate.home, "moved-away"))
    );
    expect((await prove(send, person, ["POST", await hold(gate)])).status).toBe(200);
  });

  test("a second home knows nothing of the first, and its key counts nowhere else", async () => {
    const { gate, send } = await enrolled();
    const other = await enrolled();
    const answer = await prove(send, other.person, ["POST", await hold(gate)]);
    expect(answer.status).toBe(403);
  });

  test("without credentials an enrolled home does not start", async () => {
    const { gate } = await enrolled();
    await gate.daemon.close();
    const start = startGate({ environment: gate.environment, port: 0, auth: "none" });
    await expect(start).rejects.toThrow("a passphrase or passkey decides here");
    dropRegistry(gate);
    const again = startGate({ environment: gate.environment, port: 0, auth: "none" });
    await expect(again).rejects.toThrow("a passphrase or passkey decides here");
    await gate.open();
  });

  test("an older release refuses the registry", async () => {
    const { gate } = await enrolled();
    await gate.daemon.close();
    const database = await Database.open(registryOf(gate));
    const older = migrate(database, REGISTRY_MIGRATIONS.slice(0, 3), Date.now);
    await expect(older).rejects.toThrow("update gate on this machine");
    await database.close();
    await gate.open();
  });
});

test("a config that asks for more than the token holds at once, and never for less", async () => {
  const gate = await createTestGate({ policies: ASK });
  const send = sendTo(gate);
  const path = join(gate.home, "config.json");
  writeFileSync(path, JSON.stringify({ approvals: { proof: "passphrase" } }));
  const answer = await send("POST", await hold(gate), {});
  expect((await answer.json()).detail).toContain("the config asks for a passphrase");
  writeFileSync(path, "{}");
  expect((await send("POST", await hold(gate), {})).status).toBe(200);
});

test("after a removal nothing is decided, whatever the config says", async () => {
  const { gate, send, person } = await enrolled();
  expect((await prove(send, person, ["POST", "/api/proof/remove"])).status).toBe(200);
  await gate.reopen(() => writeFileSync(join(gate.home, "config.json"), TOKEN));
  const answer = await send("POST", await hold(gate), {});
  expect([answer.status, (await answer.json()).challenge]).toEqual([403, undefined]);
});

test("a ledger that opens later gets every change at its opening", async () => {
  const { gate, send, person: first } = await enrolled();
  const second = withPassphrase();
  expect((await enrol(send, second, first)).status).toBe(200);
  const root = join(gate.root, "../later");
  mkdirSync(root);
  writeFileSync(join(root, "gate.config.json"), JSON.stringify({ id: "later", policies: ASK }));
  await gate.daemon.projects.register(root, { id: "reviewer", scope: "reviewer" });
  const later = await gate.daemon.projects.get("later");
  const { listEvents } = await import("../../../server/audit/store.ts");
  const changes = async () =>
    (await listEvents(later.ledger, 0, 100)).filter(({ type }) => type === "proof.changed");
  expect((await changes()).map(({ data }) => data.number)).toEqual([1, 2]);
  const { action } = await later.actions.submit(
    { tool: "write_file", input: { path: "a", content: "x" } },
    testCaller("agent"),
  );
  const approve = `/api/actions/${action.id}/approve?project=later`;
  expect((await prove(send, second, ["POST", approve])).status).toBe(200);
  expect(await later.audit.verify()).toMatchObject({ ok: true, problem: null });
});

test("kill -9 between the enrolment and the ledgers: the next start completes it", async () => {
  const gate = await createTestGate({ proof: "none", policies: ASK });
  const person = withPassphrase();
  const input = JSON.stringify(await person.enrolment(sendTo(gate)));
  await gate.daemon.close();
  const child = await startChild("server/proof/enrol_program.ts", [
    gate.home,
    gate.root,
    input,
    "proof changed",
  ]);
  expect(await child.readLine()).toBeNull();
  await gate.open();
  const changes = (await gate.audit()).filter(({ type }) => type === "proof.changed");
  expect(changes).toMatchObject([{ data: { key: { key_id: person.key_id } } }]);
  expect((await prove(sendTo(gate), person, ["POST", await hold(gate)])).status).toBe(200);
  expect(existsSync(registryOf(gate))).toBe(true);
});
