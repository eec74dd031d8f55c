import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { Connection } from "../../../server/db/connection.ts";
import { Database } from "../../../server/db/database.ts";
import { createTestGate } from "../../helpers.ts";

/** A frame of the write-ahead log: its header and one page. */
const FRAME = 24 + 4096;
const WRITES = 120;

/** The frames in a log since its last restart. */
function framesIn(log: string): number {
  const bytes = readFileSync(log);
  const salt = bytes.toString("hex", 16, 24);
  let frames = 0;
  for (let at = 32; at + FRAME <= bytes.length; at += FRAME) {
    if (bytes.toString("hex", at + 8, at + 16) !== salt) break;
    frames++;
  }
  return frames;
}

// Counts are the same on a busy machine, times are not. The content does not compress.
test("an allowed 4 KiB write costs 18 pages, 12 statements and one sync of the log at most", async () => {
  const gate = await createTestGate();
  const opening = await gate.request("POST", "/api/sessions", { host: "codex" }, "agent");
  const { id: session_id } = await opening.json();
  const write = async (at: number) => {
    gate.clock.advance(7);
    const content = randomBytes(3072).toString("base64");
    const body = {
      tool: "write_file",
      input: { path: `f${at % 20}.txt`, content },
      session_id,
    };
    const answer = await gate.request("POST", "/api/actions", body, "agent");
    expect(await answer.json()).toMatchObject({ execution: "succeeded" });
  };
  const { ledger } = gate.project;
  // The clock stands still, because a pause would sync one outcome alone.
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  await ledger.all("PRAGMA wal_autocheckpoint = 0");
  for (let at = 0; at < WRITES; at++) await write(at);
  await ledger.catchUp();
  await ledger.sync();
  const log = join(gate.home, "projects", "test", "ledger.db-wal");
  const before = framesIn(log);
  const { run } = Connection.prototype;
  let statements = 0;
  const runs = vi.spyOn(Connection.prototype, "run").mockImplementation(
    function (this: Connection, one) {
      statements++;
      return run.call(this, one);
    },
  );
  const syncs = vi.spyOn(Database.prototype, "syncLog");
  onTestFinished(() => [runs, syncs].forEach((spy) => spy.mockRestore()));
  for (let at = 0; at < WRITES; at++) {
    await write(at);
    // The work after the answers counts as well: about as often as an agent writes at once.
    if (at % 40 === 39) await ledger.catchUp();
  }
  await ledger.sync();
  expect((framesIn(log) - before) / WRITES).toBeLessThanOrEqual(18);
  expect(statements / WRITES).toBeLessThanOrEqual(12);
  expect(syncs.mock.calls.length).toBeLessThanOrEqual(WRITES + 10);
});

test("agents that write at once share syncs, and each gets its own answer", async () => {
  const gate = await createTestGate();
  const submit = async (agent: number, at: number) => {
    const input = { path: `${agent}.txt`, content: `${at}` };
    const body = { tool: "write_file", input };
    const answer = await gate.request("POST", "/api/actions", body, "agent");
    return await answer.json() as { path: string; execution: string; id: string };
  };
  await submit(0, 0);
  const syncs = vi.spyOn(Database.prototype, "syncLog");
  onTestFinished(() => syncs.mockRestore());
  const agents = Array.from({ length: 8 }, (_, agent) => agent);
  const answers = await Promise.all(agents.map(async (agent) => {
    const own = [];
    for (let at = 0; at < 10; at++) own.push(await submit(agent, at));
    return own;
  }));
  expect(syncs.mock.calls.length).toBeLessThan(80);
  for (const [agent, own] of answers.entries()) {
    for (const { path, execution } of own) {
      expect([path, execution]).toEqual([`${agent}.txt`, "succeeded"]);
    }
    expect(readFileSync(join(gate.root, `${agent}.txt`), "utf8")).toBe("9");
  }
  expect(new Set(answers.flat().map(({ id }) => id)).size).toBe(80);
  expect(await gate.project.audit.verify()).toMatchObject({ ok: true });
});
