import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { Guarding } from "../../../../server/actions/guarding/guarding.ts";
import { startGate } from "../../../../server/start.ts";
import { createTestEnvironment } from "../../../helpers.ts";
import { createTempFolder } from "../../../temp_folder.ts";

afterEach(() => vi.restoreAllMocks());

/** Watches a project while a command runs in it; `report` hears what is undone. */
async function watch(guarding: Guarding, root: string, report: () => Promise<void>) {
  await guarding.open({
    action_id: "a",
    ...{ root, cwd: root, scripts: [], report },
    permits: { paths: new Set(), implied: () => [], commands: [] },
  }, []);
}

/** A project with a running command, and a clock that stands still. */
async function watched() {
  const user = createTempFolder("ahead");
  const root = join(user, "project");
  mkdirSync(root);
  const { environment } = createTestEnvironment(join(user, ".gate"));
  const guarding = new Guarding(environment, user);
  const report = vi.fn(() => Promise.resolve());
  await watch(guarding, root, report);
  const clock = vi.spyOn(performance, "now").mockReturnValue(1_000);
  const file = join(root, ".envrc");
  return { guarding, clock, report, file, change: () => writeFileSync(file, "evil") };
}

test("a contact waits for the report of the comparison at its connection", async () => {
  const { guarding, report, file, change } = await watched();
  let told = () => {};
  report.mockReturnValue(new Promise<void>((resolve) => told = resolve));
  change();
  guarding.lookAhead();
  expect(existsSync(file)).toBe(false);
  let isOver = false;
  const contact = guarding.look().then(() => isOver = true);
  await new Promise((resolve) => setImmediate(resolve));
  expect({ isOver, reports: report.mock.calls.length }).toEqual({ isOver: false, reports: 1 });
  told();
  await contact;
});

test("a comparison at a connection serves one contact", async () => {
  const { guarding, file, change } = await watched();
  guarding.lookAhead();
  await guarding.look();
  change();
  await guarding.look();
  expect(existsSync(file)).toBe(false);
});

test("a client that connects and then waits is compared again", async () => {
  const { guarding, clock, file, change } = await watched();
  guarding.lookAhead();
  change();
  clock.mockReturnValue(1_011);
  await guarding.look();
  expect(existsSync(file)).toBe(false);
});

test("the daemon compares when a client connects to its socket, before any request", async () => {
  const folder = createTempFolder("ahead");
  const root = join(folder, "project");
  mkdirSync(root);
  const { environment } = createTestEnvironment(join(folder, "home"));
  const gate = await startGate({ environment, port: 0 });
  onTestFinished(() => gate.close());
  const reported = new Promise<void>((resolve) => {
    void watch(gate.daemon.guarding, root, () => Promise.resolve(resolve())).then(() => {
      writeFileSync(join(root, ".envrc"), "evil");
      const socket = connect(gate.socket_path!);
      onTestFinished(() => void socket.destroy());
    });
  });
  await reported;
  expect(existsSync(join(root, ".envrc"))).toBe(false);
});
