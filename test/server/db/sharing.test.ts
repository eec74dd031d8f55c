import process from "node:process";
import { expect, onTestFinished, test, vi } from "vitest";
import { redactEvent } from "../../../server/audit/redact.ts";
import { Signer } from "../../../server/audit/signer.ts";
import type { AuditEvent } from "../../../server/evidence/schema.ts";
import type { MachineName, NewEvent } from "../../../server/db/ledger.ts";
import { LEDGER_MIGRATIONS } from "../../../server/db/ledger_migrations.ts";
import { addMachine } from "../../../server/db/machines.ts";
import type { Migration } from "../../../server/db/migrate.ts";
import { moveToServer } from "../../../server/db/move_ledger.ts";
import { openLedger } from "../../../server/db/open_ledger.ts";
import { readPlacement, writePlacement } from "../../../server/db/placement.ts";
import { ServerDatabase } from "../../../server/db/server_database.ts";
import { createTempFolder } from "../../temp_folder.ts";
import { startSqlServer } from "./sqld.ts";

const at = "2026-01-01T00:00:00.000Z";

/** One machine with the folder of its ledger. */
interface Home {
  own: MachineName;
  folder: string;
}

const machine = (number: number, name: string): Home => ({
  own: { id: `00000000-0000-4000-8000-00000000000${number}`, name },
  folder: createTempFolder(name),
});

async function open({ own, folder }: Home, migrations?: Migration[]) {
  const published: AuditEvent[] = [];
  const others: AuditEvent[] = [];
  const signer = Signer.open(folder);
  const { ledger } = await openLedger({
    project_id: "test",
    folder,
    pid: process.pid,
    now: () => Date.parse(at),
    redact: redactEvent,
    sign: (head) => signer.sign(head),
    publish: (events) => published.push(...events),
    noteDurable: () => {},
    hear: (events) => others.push(...events),
    reach: (url) => Promise.resolve({ url, token: null }),
    own: () => own,
    ...migrations && { migrations },
  });
  onTestFinished(() => ledger.close());
  return { ledger, published, others };
}

/** A ledger on a server that two machines share, and both homes. */
async function stage() {
  const server = await startSqlServer(createTempFolder("sqld"));
  const first = machine(1, "laptop");
  const second = machine(2, "desktop");
  await (await open(first)).ledger.close();
  const address = { url: server.url, token: null };
  await moveToServer({ project_id: "test", pid: process.pid, at, ...first }, address);
  const database = await ServerDatabase.open(address);
  onTestFinished(() => database.close());
  await database.batch([addMachine(second.own, at)]);
  writePlacement(second.folder, readPlacement(first.folder)!);
  return { database, first, second, server };
}

const event = (n: number, type: NewEvent["type"] = "quota.reached"): NewEvent => ({
  ...{ session_id: null, action_id: null, type },
  actor: { kind: "system", id: "gate" },
  data: { n },
});

const numbers = (events: readonly AuditEvent[]) => events.map(({ seq }) => seq);

test("both machines extend one chain, and each publishes all of it in order", async () => {
  const { first, second } = await stage();
  const [a, b] = [await open(first), await open(second)];
  await Promise.all(
    Array.from({ length: 20 }, (_, n) => [
      a.ledger.commit({ statements: [], events: [event(n), event(n)] }),
      b.ledger.commit({ statements: [], events: [event(100 + n)] }),
    ]).flat(),
  );
  await vi.waitFor(() => {
    expect(numbers(a.published)).toEqual(Array.from({ length: 60 }, (_, at) => at + 1));
    expect(a.published).toEqual(b.published);
  }, { timeout: 10_000 });
  for (const [at, one] of a.published.entries()) {
    expect(one.prev_hash).toBe(at === 0 ? "0".repeat(64) : a.published[at - 1]!.hash);
  }
  expect(a.others.every(({ data }) => Number(data.n) >= 100)).toBe(true);
  expect(a.others).toHaveLength(20);
  expect(b.others).toHaveLength(40);
  expect(a.ledger.head).toEqual(b.ledger.head);
});

test("a config of one machine is none of the other's", async () => {
  const { first, second } = await stage();
  const [a, b] = [await open(first), await open(second)];
  await a.ledger.commit({ statements: [], events: [event(1, "policy.changed")] });
  await b.ledger.commit({ statements: [], events: [event(2, "policy.changed")] });
  expect(b.published.map(({ data }) => data)).toEqual([
    { n: 1, machine: first.own.id },
    { n: 2, machine: second.own.id },
  ]);
});

const newer: Migration[] = [...LEDGER_MIGRATIONS, {
  version: LEDGER_MIGRATIONS.at(-1)!.version + 1,
  statements: ["ALTER TABLE sessions ADD COLUMN later TEXT"],
}];

test("a newer gate does not migrate while an older one is connected, and the older one is refused after", async () => {
  const { database, first, second } = await stage();
  const old = await open(first);
  const version = LEDGER_MIGRATIONS.at(-1)!.version;
  await expect(open(second, newer)).rejects.toThrow(
    new RegExp(`schema ${version + 1}.*older one \\(schema ${version}\\).*laptop \\(gate`),
  );
  // The older one goes on.
  await old.ledger.commit({ statements: [], events: [event(1)] });
  await old.ledger.close();

  const now = await open(second, newer);
  await now.ledger.commit({ statements: [], events: [event(2)] });
  await expect(open(first)).rejects.toThrow(
    new RegExp(`made it \\(schema ${version + 1}\\), this is gate .* \\(schema ${version}\\)`),
  );
  const [row] = await database.all("SELECT max(version) AS version FROM migrations");
  expect(row).toEqual({ version: version + 1 });
});

test("a newer gate that only adds to the schema shares the ledger with an older one", async () => {
  const { database, first, second } = await stage();
  const version = LEDGER_MIGRATIONS.at(-1)!.version;
  const adding = [{ ...newer.at(-1)!, is_additive: true }];
  const old = await open(first);
  const now = await open(second, [...LEDGER_MIGRATIONS, ...adding]);
  await Promise.all(
    [old, now].flatMap(({ ledger }, at) =>
      Array.from(
        { length: 5 },
        (_, n) => ledger.commit({ statements: [], events: [event(10 * at + n)] }),
      )
    ),
  );
  await vi.waitFor(() => {
    expect(numbers(old.published)).toEqual(Array.from({ length: 10 }, (_, at) => at + 1));
    expect(old.published).toEqual(now.published);
  }, { timeout: 10_000 });
  // The older one can come back too, until a version comes that it cannot use.
  await old.ledger.close();
  const again = await open(first);
  await again.ledger.commit({ statements: [], events: [event(20)] });
  const later = { version: version + 2, statements: ["DROP TABLE word_blocks"] };
  await now.ledger.close();
  await expect(open(second, [...LEDGER_MIGRATIONS, ...adding, later])).rejects.toThrow(
    new RegExp(`schema ${version + 2}.*laptop \\(gate`),
  );
  await again.ledger.close();
  await open(second, [...LEDGER_MIGRATIONS, ...adding, later]);
  await expect(open(first)).rejects.toThrow(
    new RegExp(`made it \\(schema ${version + 2}\\).* update gate on this machine`),
  );
  expect(await database.all("SELECT version, needs FROM migrations ORDER BY version DESC LIMIT 3"))
    .toEqual([
      { version: version + 2, needs: null },
      { version: version + 1, needs: 0 },
      { version, needs: LEDGER_MIGRATIONS.at(-1)!.is_additive ? 0 : null },
    ]);
});

test("a newer gate also waits for a release that tells no schema", async () => {
  const { database, first, second } = await stage();
  await open(first);
  const untold = { sql: "UPDATE machines SET opened_by = 'x' WHERE id = ?", args: [first.own.id] };
  await database.batch([untold]);
  const adding = [...LEDGER_MIGRATIONS, { ...newer.at(-1)!, is_additive: true }];
  await expect(open(second, adding)).rejects.toThrow(/machines with an older one .*laptop/);
});

test("an older gate that was away while a newer one migrated commits nothing any more", async () => {
  const { database, first, second } = await stage();
  const old = await open(first);
  // It was not seen for long: its machine slept.
  await database.batch([{ sql: "UPDATE machines SET seen_at = 0", args: [] }]);
  const now = await open(second, newer);
  await now.ledger.commit({ statements: [], events: [event(1)] });
  await expect(old.ledger.commit({ statements: [], events: [event(2)] })).rejects.toThrow(
    /made it \(schema .* update gate on this machine/,
  );
  const [row] = await database.all("SELECT count(*) AS events FROM audit");
  expect(row).toEqual({ events: 1 });
});

test("a machine that was removed is refused", async () => {
  const { database, first } = await stage();
  const a = await open(first);
  await database.batch([{ sql: "UPDATE machines SET left_at = '2026', opened_by = ''", args: [] }]);
  await expect(a.ledger.commit({ statements: [], events: [event(1)] })).rejects.toThrow(
    /has removed this machine; join again/,
  );
  await a.ledger.close();
  await expect(open(first)).rejects.toThrow(/none of those that share it/);
});
