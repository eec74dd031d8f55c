import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { writeFolders, writeOld } from "../../server/retention/old_ledger.ts";
import { createTerminal, type TestTerminal } from "../terminal.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let terminal: TestTerminal;
let ids: string[];
beforeAll(async () => {
  terminal = await createTerminal();
  const [home, root] = [join(terminal.folder, ".gate"), join(terminal.folder, "project")];
  writeFolders(home, root);
  ({ ids } = await writeOld(home, root));
  expect(await terminal.run(["daemon", "start"])).toMatchObject({ code: 0 });
});
afterAll(async () => {
  await terminal.run(["daemon", "stop"]);
  terminal.close();
});

test("gate gc says what it would drop, drops it, and the log still verifies", async () => {
  const planned = await terminal.run(["gc", "--dry-run"]);
  expect(planned).toMatchObject({ code: 0, stderr: "" });
  expect(planned.stdout).toMatch(
    /^· old: would drop 3 contents \(\d\.\d MiB\) from before \d{4}-/m,
  );
  const shorter = await terminal.run(["gc", "--dry-run", "--days", "50", "--project", "old"]);
  expect(shorter.stdout).toMatch(/would drop 0 contents \(0 B\) from before/);

  const done = await terminal.run(["gc", "--json", "--project", "old"]);
  expect(JSON.parse(done.stdout)).toMatchObject({
    ...{ project_id: "old", dry_run: false, days: 30 },
    dropped: { contents: 3 },
    needed: { contents: 0, bytes: 0 },
  });
  expect((await terminal.run(["gc"])).stdout).toMatch(/^✓ old: dropped 0 contents \(0 B\)/m);
  expect(await terminal.run(["audit", "verify", "--project", "old"])).toMatchObject({ code: 0 });
  expect(await terminal.run(["rollback", ids[1]!])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("the old content was dropped on"),
  });
  const shown = (await terminal.run(["show", ids[1]!])).stdout;
  expect(shown).toMatch(/^reversible +no: the old content was dropped on \d{4}-\d\d-\d\d by the/m);
  expect(shown).toMatch(/not shown: it was dropped on \d{4}-\d\d-\d\d by the retention of this/);
});

test.each([
  [["gc", "--days", "7"], "it is only for a dry run"],
  [["gc", "--dry-run", "--days", "0"], "it is not a number of days from 1 to 36500"],
  [["gc", "--dry-run", "--days", "1e9"], "it is not a number of days from 1 to 36500"],
])("%j is wrong usage", async (args, message) => {
  expect(await terminal.run(args)).toMatchObject({
    code: 64,
    stdout: "",
    stderr: expect.stringContaining(message),
  });
});
