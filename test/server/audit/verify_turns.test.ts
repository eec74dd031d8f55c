import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { createTestGate, testCaller } from "../../helpers.ts";

const WRITES = 100;

test("a check of the log lets others have a turn after every forty rows", async () => {
  const { project } = await createTestGate();
  for (let at = 0; at < WRITES; at++) {
    const input = { path: "a.txt", content: `${at}\n` };
    await project.actions.submit({ tool: "write_file", input }, testCaller("agent"));
  }
  let isDone = false;
  const checked = project.audit.verify().finally(() => void (isDone = true));
  let turns = 0;
  for (; !isDone; turns++) await setImmediate();
  expect(await checked).toMatchObject({ ok: true, events: 4 * WRITES + 1 });
  expect(turns).toBeGreaterThanOrEqual((4 * WRITES + WRITES) / 40 - 1);
});
