import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { Database } from "../../../server/db/database.ts";
import { HomeChanges } from "../../../server/proof/home_changes.ts";
import {
  type LedgerChanges,
  markOf,
  readLedgerChanges,
} from "../../../server/proof/ledger_changes.ts";
import type { ProofChange } from "../../../server/proof/schema.ts";
import { createTestGate, type TestGate } from "../../helpers.ts";
import { enrol, sendTo, withPassphrase } from "./person.ts";

async function enrolled(): Promise<{ gate: TestGate; change: ProofChange; path: string }> {
  const gate = await createTestGate({ proof: "none" });
  await enrol(sendTo(gate), withPassphrase());
  const event = (await gate.audit()).find(({ type }) => type === "proof.changed");
  const path = join(gate.home, "projects/test/ledger.db");
  return { gate, change: event!.data as ProofChange, path };
}

async function read(
  gate: TestGate,
  marks: number[],
  unreadable: string[] = [],
): Promise<LedgerChanges[]> {
  const found: LedgerChanges[] = [];
  const known = { projects: new Map(), marks: new Set(marks) };
  const note = (project_id: string) => unreadable.push(project_id);
  for await (const memory of readLedgerChanges(gate.home, known, note)) found.push(memory);
  return found;
}

test("a closed ledger has the mark of its newest change, and is not opened for a known one", async () => {
  const { gate, change, path } = await enrolled();
  await gate.daemon.close();
  expect(readFileSync(path).readInt32BE(60)).toBe(markOf(change));
  const opened = vi.spyOn(Database, "open");
  expect(await read(gate, [markOf(change)])).toEqual([]);
  expect(opened).not.toHaveBeenCalled();
  expect(await read(gate, [1])).toEqual([{ project_id: "test", changes: [change] }]);
  expect(opened).toHaveBeenCalledOnce();
  opened.mockRestore();
  await gate.open();
});

test("a ledger whose write-ahead log is left is opened, because its mark may be old", async () => {
  const { gate, change, path } = await enrolled();
  expect(statSync(`${path}-wal`).size).toBeGreaterThan(0);
  expect(await read(gate, [])).toEqual([{ project_id: "test", changes: [change] }]);
});

test("folders without a ledger, short files and other files say nothing", async () => {
  const gate = await createTestGate();
  for (const [name, text] of [["empty", ""], ["short", "SQLite"], ["other", "x".repeat(200)]]) {
    mkdirSync(join(gate.home, "projects", name!), { recursive: true });
    writeFileSync(join(gate.home, "projects", name!, "ledger.db"), text!);
  }
  mkdirSync(join(gate.home, "projects/none"));
  writeFileSync(join(gate.home, "projects/file"), "");
  const unreadable: string[] = [];
  expect(await read(gate, [], unreadable)).toEqual([]);
  expect(unreadable).toEqual(["other"]);
});

test("a comparison that failed once is made again", async () => {
  const { gate } = await enrolled();
  await gate.daemon.close();
  const registry = await Database.open(join(gate.home, "gate.db"));
  const environment = { home: gate.home, now: () => 0, id: () => "x", log: () => {} };
  const home = await HomeChanges.open({ environment, registry, configured: () => null });
  const folder = join(gate.home, "projects");
  renameSync(folder, `${folder}.away`);
  writeFileSync(folder, "");
  await expect(home.state()).rejects.toThrow();
  rmSync(folder);
  renameSync(`${folder}.away`, folder);
  expect(await home.state()).toMatchObject({ problem: null, is_certain: true });
  await registry.close();
  await gate.open();
});
