import {
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { listEvents } from "../../../../server/audit/store.ts";
import { Database } from "../../../../server/db/database.ts";
import { Daemon } from "../../../../server/daemon.ts";
import { createTestEnvironment } from "../../../helpers.ts";
import { openGate } from "../harness.ts";

/** A frame of the write-ahead log: its header and one page. */
const FRAME = 24 + 4096;

type Gate = Awaited<ReturnType<typeof openGate>>;

interface Deed {
  /** The durable actions before the power cut. */
  before?: (gate: Gate) => Promise<unknown>;
  /** The acknowledged action whose outcome a power cut takes. */
  act: (gate: Gate) => Promise<{ id: string; execution: string }>;
  /** The files afterwards. */
  files: Record<string, string | null>;
}

const DEEDS: Record<string, Deed> = {
  "a new file": {
    act: (gate) => gate.write("docs/new.txt", "new"),
    files: { "docs/new.txt": "new", "a.txt": "v1" },
  },
  "a changed file": {
    act: (gate) => gate.write("a.txt", "v2"),
    files: { "a.txt": "v2" },
  },
  "a deletion": {
    act: (gate) => gate.submit("delete_file", { path: "a.txt" }),
    files: { "a.txt": null },
  },
  "a move": {
    act: (gate) => gate.submit("move_file", { from: "a.txt", to: "b.txt" }),
    files: { "a.txt": null, "b.txt": "v1" },
  },
  "a rollback": {
    before: (gate) => gate.write("a.txt", "v2"),
    act: async (gate) => {
      const { items: [written] } = await gate.actions.list({});
      return (await gate.back(written!.id)).rollback!;
    },
    files: { "a.txt": "v1" },
  },
  "the second of two writes": {
    before: (gate) => gate.write("a.txt", "v2"),
    act: (gate) => gate.write("a.txt", "v3"),
    files: { "a.txt": "v3" },
  },
};

afterEach(() => void vi.useRealTimers());

/** The length of the ledger's log that the disk surely has. */
function watchSynced(log: () => string): () => number {
  let synced = 0;
  const { syncLog } = Database.prototype;
  const spy = vi.spyOn(Database.prototype, "syncLog").mockImplementation(
    async function (this: Database) {
      const size = `${this.path}-wal` === log() ? statSync(log()).size : 0;
      await syncLog.call(this);
      synced = Math.max(synced, size);
    },
  );
  onTestFinished(() => spy.mockRestore());
  return () => synced;
}

/** Carries the deed out and answers, and takes the power before the outcome is synced. */
async function cutAfter({ before, act }: Deed) {
  const gate = await openGate({ files: { "a.txt": "v1" } });
  const { home, root } = gate.gate;
  const log = join(home, "projects", "test", "ledger.db-wal");
  const synced = watchSynced(() => log);
  await before?.(gate);
  // The 50 ms after which an outcome is synced never pass.
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  const action = await act(gate);
  expect(action.execution).toBe("succeeded");
  const { head, durable } = gate.gate.project.ledger;
  expect(durable.seq).toBeLessThan(head.seq);
  // The outcome is in no file yet. A commit that does not wait for the disk writes it.
  const killed = copyOf(home);
  await gate.gate.project.ledger.catchUp();
  // The registry is saved at the worst moment.
  await gate.gate.daemon.stream.close();
  vi.useRealTimers();
  const disk = copyOf(home);
  return { root, disk, killed, id: action.id, synced: synced(), durable, head };
}

function copyOf(home: string): string {
  const disk = realpathSync(mkdtempSync(join(tmpdir(), "gate-power-")));
  onTestFinished(() => rmSync(disk, { recursive: true, force: true }));
  cpSync(home, join(disk, "home"), { recursive: true });
  return disk;
}

/** Opens a copy of what the disk held, with the log as `damage` leaves it. */
async function open(disk: string, root: string, damage: (log: string) => void) {
  const home = mkdtempSync(join(disk, "again-"));
  cpSync(join(disk, "home"), home, { recursive: true });
  damage(join(home, "projects", "test", "ledger.db-wal"));
  const { environment } = createTestEnvironment(home);
  const daemon = await Daemon.open(environment, { port: 47998 });
  const { id } = await daemon.projects.register(root, { id: "reviewer", scope: "reviewer" });
  return { daemon, project: await daemon.projects.get(id) };
}

const contentOf = (path: string) => existsSync(path) ? readFileSync(path, "utf8") : null;

describe("a power cut before the outcome of an acknowledged action is synced", () => {
  test.each(Object.entries(DEEDS))(
    "%s: recovery finds the outcome again, the chain is whole and nothing is reported",
    async (_, deed) => {
      const { root, disk, killed, id, synced, durable, head } = await cutAfter(deed);
      const whole = statSync(join(disk, "home", "projects", "test", "ledger.db-wal")).size;
      const frames = (whole - synced) / FRAME;
      expect(frames).toBeGreaterThan(5);
      expect(Number.isInteger(frames)).toBe(true);
      const damages: [what: string, damage: (log: string) => void][] = [
        ["nothing of it was written", (log) => truncateSync(log, synced)],
        ["half a frame", (log) => truncateSync(log, synced + FRAME / 2)],
        ["all but the last frame", (log) => truncateSync(log, whole - FRAME)],
        // The kernel writes pages in any order.
        ["a hole at its begin", (log) => hole(log, synced)],
        ["a hole at its end", (log) => hole(log, whole - FRAME)],
        ["a page of it, not the header", (log) => hole(log, synced + FRAME + 24, FRAME - 24)],
      ];
      const copies = damages.map(([what, damage]) => [what, disk, damage] as const);
      for (
        const [what, copy, damage] of [["killed", killed, () => {}] as const, ...copies]
      ) {
        const { daemon, project } = await open(copy, root, damage);
        expect(daemon.projects.problems(), what).toEqual([]);
        const { ok, problem } = await project.audit.verify();
        expect({ ok, problem }, what).toEqual({ ok: true, problem: null });
        expect(await project.actions.get(id), what).toMatchObject({ execution: "succeeded" });
        const events = await listEvents(project.ledger, 0, 1_000);
        const finished = events.filter(({ type, action_id }) =>
          type === "action.finished" && action_id === id
        );
        expect(finished.map(({ seq }) => seq > durable.seq), what).toEqual([true]);
        expect(events.find(({ seq }) => seq === durable.seq)?.hash, what).toBe(durable.hash);
        for (const [path, content] of Object.entries(deed.files)) {
          expect(contentOf(join(root, path)), `${what}: ${path}`).toBe(content);
        }
        await daemon.close();
      }
      // Written, though never synced: nothing is recovered.
      const { daemon, project } = await open(disk, root, () => {});
      const events = await listEvents(project.ledger, head.seq - 1, 10);
      expect(events.map(({ seq, hash }) => ({ seq, hash }))).toEqual([head]);
      await daemon.close();
    },
    60_000,
  );

  test("a file that changed meanwhile makes the outcome unknown, and keeps its content", async () => {
    const { root, disk, id, synced } = await cutAfter(DEEDS["a changed file"]!);
    writeFileSync(join(root, "a.txt"), "a person's");
    const { daemon, project } = await open(disk, root, (log) => truncateSync(log, synced));
    const action = await project.actions.get(id);
    expect(action).toMatchObject({ execution: "unknown" });
    expect(action.error).toContain("look at");
    expect(contentOf(join(root, "a.txt"))).toBe("a person's");
    expect(await project.audit.verify()).toMatchObject({ ok: true });
    expect(daemon.projects.problems()).toEqual([]);
    await daemon.close();
  });
});

test("the record of a write waits for its folder, and every later commit waits with it", async () => {
  let release = () => {};
  const folder = new Promise<void>((resolve) => release = resolve);
  onTestFinished(() => release());
  const gate = await openGate({
    files: { "a.txt": "v1" },
    fault: (step) => step === "shown" ? folder : undefined,
  });
  const { ledger } = gate.gate.project;
  const action = await gate.write("a.txt", "v2");
  // The agent has its answer, and everybody sees the file.
  expect(action.execution).toBe("succeeded");
  expect(gate.read("a.txt")).toBe("v2");
  const told = ledger.head;
  const others = [gate.write("b.txt", "x"), ledger.sync(), ledger.catchUp()];
  await new Promise((resolve) => setTimeout(resolve, 150));
  expect(ledger.durable.seq).toBeLessThan(told.seq);

  // A power cut takes the rename. No commit in the log says that it happened.
  await gate.gate.daemon.stream.close();
  const disk = copyOf(gate.gate.home);
  writeFileSync(join(gate.gate.root, "a.txt"), "v1");
  const cut = await open(disk, gate.gate.root, () => {});
  expect(cut.daemon.projects.problems()).toEqual([]);
  expect(await cut.project.actions.get(action.id)).toMatchObject({ execution: "failed" });
  expect(await cut.project.audit.verify()).toMatchObject({ ok: true });
  expect(contentOf(join(gate.gate.root, "a.txt"))).toBe("v1");
  await cut.daemon.close();

  release();
  await Promise.all(others);
  expect(ledger.durable.seq).toBeGreaterThan(told.seq);
});

test("a head is durable before anybody outside of the ledger is told of it", async () => {
  const { gate, write } = await openGate();
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  await write("a.txt", "v1");
  const { ledger, audit } = gate.project;
  const asked = [
    () => audit.head(null),
    () => audit.checkpoint(),
    async () => (await audit.verify()).head!,
  ];
  for (const ask of asked) {
    await write("a.txt", `${Math.random()}`);
    const before = ledger.head;
    expect(ledger.durable.seq).toBeLessThan(before.seq);
    const { seq, hash } = await ask();
    expect({ seq, hash }).toEqual(before);
    expect(ledger.durable).toEqual(before);
  }
});

test("an outcome that is not a success waits for the disk", async () => {
  const { gate, write } = await openGate({
    files: { "a.txt": "v1" },
    fault: (step) => {
      if (step === "temporary") throw new Error("the disk is full");
    },
  });
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  expect(await write("a.txt", "v2")).toMatchObject({ execution: "failed" });
  expect(gate.project.ledger.durable).toEqual(gate.project.ledger.head);
});

function hole(log: string, at: number, length: number = FRAME): void {
  const bytes = readFileSync(log);
  writeFileSync(log, bytes.fill(0, at, at + length));
}
