import {
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { Daemon } from "../../../../server/daemon.ts";
import { Database } from "../../../../server/db/database.ts";
import { createTestEnvironment } from "../../../helpers.ts";
import { createRandom } from "../../../random.ts";
import { openGate, reviewer } from "../harness.ts";

const FRAME = 24 + 4096;
const PATHS = ["free/a", "free/b", "free/deep/c", "held/a", "held/b"];
const LOGS = ["gate.db-wal", join("projects", "test", "ledger.db-wal")];

type Gate = Awaited<ReturnType<typeof openGate>>;
/** A number from 0 up to below 1. */
type Random = () => number;

/** The length up to which each log is surely on the disk. */
function watchLogs(home: string): Map<string, number> {
  const synced = new Map<string, number>();
  const sizeOf = (log: string) => statSync(join(home, log), { throwIfNoEntry: false })?.size ?? 0;
  const note = (log: string, size = sizeOf(log)) =>
    void synced.set(log, Math.max(size, synced.get(log) ?? 0));
  const { syncLog } = Database.prototype;
  const spy = vi.spyOn(Database.prototype, "syncLog").mockImplementation(
    async function (this: Database) {
      const size = statSync(`${this.path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
      await syncLog.call(this);
      for (const log of LOGS) if (`${this.path}-wal` === join(home, log)) note(log, size);
    },
  );
  onTestFinished(() => spy.mockRestore());
  for (const log of LOGS) note(log);
  return synced;
}

/** One acknowledged action of an agent or of a person. */
async function act(gate: Gate, random: Random, step: number): Promise<void> {
  const pick = <T>(all: readonly T[]) => all[Math.floor(random() * all.length)]!;
  const path = pick(PATHS);
  const isThere = existsSync(gate.at(path));
  switch (pick(["write", "write", "write", "edit", "delete", "move", "roll back", "approve"])) {
    case "write":
      return void await gate.write(path, `${path} ${step}\n`.repeat(1 + Math.floor(random() * 99)));
    case "edit": {
      if (!isThere) return;
      const edits = [{ old_text: gate.read(path), new_text: `edited ${step}` }];
      return void await gate.submit("edit_file", { path, edits });
    }
    case "delete":
      if (isThere) await gate.submit("delete_file", { path });
      return;
    case "move": {
      const to = pick(PATHS);
      if (isThere && !existsSync(gate.at(to))) await gate.submit("move_file", { from: path, to });
      return;
    }
    case "roll back": {
      const { items } = await gate.actions.list({ execution: "succeeded" });
      const able = items.filter(({ status, reversible }) => status === "approved" && reversible);
      if (able.length > 0) await gate.back(pick(able).id, { on_conflict: "force" }).catch(refused);
      return;
    }
    case "approve": {
      const { items: [held] } = await gate.actions.list({ status: "pending" });
      if (held) await gate.actions.approve(held.id, {}, reviewer).catch(refused);
    }
  }
}

/** A rollback or an approval that does not fit the files is refused, and changes nothing. */
function refused(error: unknown): void {
  expect(error).toMatchObject({ code: "conflict" });
}

/** Everything after the synced length may be missing: the end, single frames, parts of a frame. */
function cut(log: string, synced: number, random: Random): void {
  if (!existsSync(log)) return;
  const bytes = readFileSync(log);
  for (let at = synced; at < bytes.length; at += FRAME) {
    const lost = random();
    if (lost < 0.3) bytes.fill(0, at, at + FRAME);
    else if (lost < 0.4) bytes.fill(0, at + Math.floor(random() * FRAME), at + FRAME);
  }
  const kept = random() < 0.5 ? bytes.length : synced + random() * (bytes.length - synced);
  writeFileSync(log, bytes.subarray(0, Math.floor(kept)));
}

const contentOf = (path: string) => existsSync(path) ? readFileSync(path, "utf8") : null;

const SEEDS = Array.from({ length: 12 }, (_, seed) => seed + 1);

test.each(SEEDS)(
  "a power cut after any history leaves records that agree with the files (seed %i)",
  async (seed) => {
    const below = createRandom(seed);
    const random = () => below(1e6) / 1e6;
    const gate = await openGate({
      policies: { defaultEffect: "allow", askPaths: ["held/**"] },
      files: Object.fromEntries(PATHS.map((path) => [path, "v1"])),
    });
    const { home, root } = gate.gate;
    const synced = watchLogs(home);
    const steps = 4 + Math.floor(random() * 12);
    for (let step = 0; step < steps; step++) {
      await act(gate, random, step);
      if (random() < 0.2) await new Promise((resolve) => setTimeout(resolve, 60));
    }
    // Some outcomes are in the log and not synced, others in no file yet.
    if (random() < 0.5) await gate.gate.project.ledger.catchUp();
    if (random() < 0.5) await gate.gate.daemon.stream.close();
    const disk = realpathSync(mkdtempSync(join(tmpdir(), "gate-power-")));
    onTestFinished(() => rmSync(disk, { recursive: true, force: true }));
    const durable = new Map(synced);
    cpSync(home, join(disk, "home"), { recursive: true });
    const files = PATHS.map((path) => contentOf(join(root, path)));
    const { items: before } = await gate.actions.list({ limit: 200 });

    for (let variant = 0; variant < 5; variant++) {
      const again = mkdtempSync(join(disk, "again-"));
      cpSync(join(disk, "home"), again, { recursive: true });
      for (const log of LOGS) cut(join(again, log), durable.get(log)!, random);
      const { environment } = createTestEnvironment(again);
      const daemon = await Daemon.open(environment, { port: 47998 });
      const { id } = await daemon.projects.register(root, { id: "reviewer", scope: "reviewer" });
      const project = await daemon.projects.get(id);

      expect(daemon.projects.problems()).toEqual([]);
      const { ok, problem } = await project.audit.verify();
      expect({ ok, problem }).toEqual({ ok: true, problem: null });
      const { items: after } = await project.actions.list({ limit: 200 });
      const told = ({ id, status, execution, after_sha256 }: typeof after[number]) => ({
        ...{ id, status, execution, after_sha256 },
      });
      expect(after.map(told)).toEqual(before.map(told));
      expect(PATHS.map((path) => contentOf(join(root, path)))).toEqual(files);
      expect(after.length).toBeGreaterThan(0);
      // The projected counts are those of the rows.
      const [counts] = await project.ledger.all(
        `SELECT (SELECT total(action_count) FROM sessions) AS counted,
          (SELECT count(*) FROM actions) AS actions,
          (SELECT total(pending_count) FROM sessions) AS waiting,
          (SELECT count(*) FROM actions WHERE status = 'pending') AS pending,
          (SELECT count(*) FROM intents WHERE state = 'open') AS open`,
      );
      expect(counts).toMatchObject({
        ...{ counted: counts!.actions, waiting: counts!.pending, open: 0 },
      });
      for (const { id } of after) expect((await daemon.projects.ofAction(id)).id).toBe("test");
      await daemon.close();
    }
  },
  60_000,
);
