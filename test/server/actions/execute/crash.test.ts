import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { v7 } from "uuid";
import { expect, onTestFinished, test } from "vitest";
import type { Action } from "../../../../server/actions/schema.ts";
import { listEvents } from "../../../../server/audit/store.ts";
import { Daemon } from "../../../../server/daemon.ts";
import type { Project } from "../../../../server/projects/project.ts";
import { startChild } from "../../../child.ts";
import { decideByToken } from "../../../e2e/world.ts";
import { testCaller } from "../../../helpers.ts";
import { placeLedger, placeRegistry } from "../../../ledger_template.ts";

const PERSON = { id: "reviewer", scope: "reviewer" } as const;

interface Row {
  what: string;
  /** The step at which the daemon is killed, and which occurrence of it: `step:n`. */
  at: string;
  /** The expected content on disk after recovery. */
  files: Record<string, string | null>;
  status?: Action["status"];
  execution: Action["execution"];
}

const OLD = { "free/a.txt": "v1", "held/a.txt": "v1", "free/new": null, "free/b": null };
const rows: Row[] = [
  ...["intent:1", "temporary:1"].flatMap((at): Row[] => [
    { what: "allowed", at, files: OLD, execution: "failed" },
    { what: "created", at, files: OLD, execution: "failed" },
    { what: "approved", at, files: OLD, execution: "failed" },
    { what: "edited", at, files: OLD, execution: "failed" },
    { what: "moved", at, files: OLD, execution: "failed" },
    { what: "rolled_back", at, files: { ...OLD, "free/a.txt": "v2" }, execution: "failed" },
  ]),
  ...["renamed:1", "shown:1", "applied:1"].flatMap((at): Row[] => [
    { what: "allowed", at, files: { ...OLD, "free/a.txt": "v2" }, execution: "succeeded" },
    {
      what: "created",
      at,
      files: { ...OLD, "free/new": "folder", "free/new/deep/a.txt": "v2" },
      execution: "succeeded",
    },
    { what: "deleted", at, files: { ...OLD, "free/a.txt": null }, execution: "succeeded" },
    { what: "approved", at, files: { ...OLD, "held/a.txt": "v2" }, execution: "succeeded" },
    { what: "edited", at, files: { ...OLD, "held/a.txt": "v3" }, execution: "succeeded" },
    { what: "rolled_back", at, files: OLD, execution: "succeeded" },
  ]),
  // The next start executes an approved action that never started.
  {
    what: "approved",
    at: "decided:1",
    files: { ...OLD, "held/a.txt": "v2" },
    execution: "succeeded",
  },
  {
    what: "edited",
    at: "decided:1",
    files: { ...OLD, "held/a.txt": "v3" },
    execution: "succeeded",
  },
  { what: "deleted", at: "intent:1", files: OLD, execution: "failed" },
  // Recovery restores the first file of a half-executed move.
  { what: "moved", at: "renamed:1", files: OLD, execution: "failed" },
  { what: "moved", at: "shown:1", files: OLD, execution: "failed" },
  {
    what: "moved",
    at: "renamed:2",
    files: { ...OLD, "free/a.txt": null, "free/b": "folder", "free/b/c.txt": "v1" },
    execution: "succeeded",
  },
  { what: "claimed", at: "never:1", files: OLD, execution: "unknown" },
];

test.each(rows)(
  "a daemon killed at $at while an action is $what recovers it as $execution",
  async (row) => {
    const { home, root } = await build();
    const child = await startChild("server/actions/execute/crash_program.ts", [
      home,
      root,
      row.what,
      row.at,
    ]);
    expect(await child.readLine()).toBeNull();

    const first = await look(home, root);
    expect(first.files(Object.keys(row.files))).toEqual(row.files);
    expect(first.action).toMatchObject({ status: "approved", execution: row.execution });
    expect(first.finished).toEqual([first.action.id]);
    expect(first.leftovers).toEqual([]);
    if (row.what === "rolled_back") {
      const isUndone = row.execution === "succeeded";
      expect(first.original?.status).toBe(isUndone ? "rolled_back" : "approved");
    }
    const second = await look(home, root);
    expect(second.action).toEqual(first.action);
    expect(second.finished).toEqual(first.finished);
    expect(second.files(Object.keys(row.files))).toEqual(row.files);
  },
  60_000,
);

test("a command that ran during a crash cannot be claimed again, but its result is accepted", async () => {
  const { home, root } = await build();
  const child = await startChild("server/actions/execute/crash_program.ts", [
    home,
    root,
    "claimed",
    "-:1",
  ]);
  expect(await child.readLine()).toBeNull();
  const { daemon, project } = await open(home, root);
  const { items: [action] } = await project.actions.list({});
  expect(action).toMatchObject({ execution: "unknown" });
  await expect(project.actions.claim(action!.id, {}, testCaller("agent"))).rejects.toMatchObject({
    code: "conflict",
  });
  const [row] = await project.ledger.all("SELECT claim_id FROM actions");
  const result = { exit_code: 0, output: "hi\n", truncated: false, duration_ms: 1 };
  const claim_id = String(row!.claim_id);
  const done = await project.actions.result(
    action!.id,
    { claim_id, ...result },
    testCaller("agent"),
  );
  expect(done).toMatchObject({ execution: "succeeded", exit_code: 0 });
  await daemon.close();
});

async function build(): Promise<{ home: string; root: string }> {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "gate-crash-")));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const [home, root] = [join(base, "home"), join(base, "root")];
  decideByToken(home);
  for (const folder of ["free", "held"]) {
    mkdirSync(join(root, folder), { recursive: true });
    writeFileSync(join(root, folder, "a.txt"), "v1");
    chmodSync(join(root, folder, "a.txt"), 0o755);
  }
  const policies = { defaultEffect: "allow", askPaths: ["held/**"] };
  writeFileSync(join(root, "gate.config.json"), JSON.stringify({ id: "crash", policies }));
  await placeRegistry(home);
  await placeLedger(home, "crash");
  return { home, root };
}

async function open(home: string, root: string): Promise<{ daemon: Daemon; project: Project }> {
  const environment = { home, now: () => Date.now(), id: () => v7(), log: () => {} };
  const daemon = await Daemon.open(environment, { port: 47997 });
  const { id } = await daemon.projects.register(root, PERSON);
  return { daemon, project: await daemon.projects.get(id) };
}

/** Starts a daemon on the folders of the killed one, reads actions, events and files, and stops it. */
async function look(home: string, root: string) {
  const { daemon, project } = await open(home, root);
  const { items } = await project.actions.list({});
  const events = await listEvents(project.ledger, 0, 1_000);
  expect(await project.audit.verify()).toMatchObject({ ok: true });
  const action = items[0]!;
  await daemon.close();
  return {
    action,
    original: items.find(({ id }) => id === action.rollback_of),
    finished: events.filter(({ type, action_id }) =>
      type === "action.finished" && action_id === action.id
    ).map(({ action_id }) => action_id),
    leftovers: readdirSync(root, { recursive: true }).filter((name) => /\.gate-/.test(`${name}`)),
    files: (paths: string[]) =>
      Object.fromEntries(paths.map((path) => [path, contentOf(join(root, path))])),
  };
}

function contentOf(path: string): string | null {
  if (!existsSync(path)) return null;
  return lstatSync(path).isDirectory() ? "folder" : readFileSync(path, "utf8");
}
