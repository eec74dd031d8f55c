import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { testCaller } from "../../helpers.ts";
import { approve, forge, hold, open } from "./forging.ts";

/** Changes the row of an action in the statement that starts it, after every check. */
const atStart = (change: string) =>
  `CREATE TRIGGER evil BEFORE UPDATE OF execution ON actions
    WHEN NEW.execution = 'running' AND OLD.execution = 'none'
    BEGIN UPDATE actions SET ${change} WHERE id = NEW.id; END`;

test("a ledger that changes a command when it is claimed runs the checked one", async () => {
  const stage = await open();
  const { gate } = stage;
  const id = await hold(gate, "run_command", { command: "make agreed" });
  expect((await approve(stage, id)).status).toBe(200);
  await forge(gate, atStart("command = 'make evil', cwd = '/'"));
  const claim = await gate.project.actions.claim(id, {}, testCaller("agent"));
  expect(claim).toMatchObject({
    command: "make agreed",
    cwd: gate.root,
    action: { execution: "running", command: "make agreed" },
  });
});

test("a ledger that changes a plan when it starts changes no folder by it", async () => {
  const stage = await open({ files: { "a.txt": "old\n" } });
  const { gate } = stage;
  const folder = join(gate.root, "folder");
  mkdirSync(folder, { mode: 0o700 });
  const id = await hold(gate);
  const modes = JSON.stringify([{ path: folder, before: 0o700, after: 0o777 }]);
  await forge(gate, atStart(`input = json_set(input, '$.folder_modes', json('${modes}'))`));
  expect((await approve(stage, id)).status).toBe(200);
  expect(await gate.project.actions.get(id)).toMatchObject({ execution: "succeeded" });
  expect(statSync(folder).mode & 0o777).toBe(0o700);
});
