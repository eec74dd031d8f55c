import Sqlite from "libsql";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openGatedProject } from "../gated_project.ts";
import { diagnose } from "./diagnose.ts";

const MADE = "INSERT INTO migrations (version, made_by, at) VALUES (9000, '9.1.0', 'later')";

test("doctor names each database that only a newer release can use", async () => {
  const gated = await openGatedProject();
  onTestFinished(() => gated.close());
  await gated.write("src/a.txt", "one");
  await gated.good("daemon", "stop");
  const home = join(gated.terminal.folder, ".gate");
  const [registry, ledger] = [join(home, "gate.db"), join(home, "projects", "web", "ledger.db")];
  expect((await diagnose(gated.terminal)).problems).not.toContainEqual(
    expect.objectContaining({ check: "ledgers" }),
  );
  for (const path of [registry, ledger]) {
    const database = new Sqlite(path);
    database.exec(MADE);
    database.close();
  }
  const { problems, ok } = await diagnose(gated.terminal);
  expect(ok).toBe(false);
  expect(problems.filter(({ check }) => check === "ledgers")).toMatchObject(
    [registry, ledger].map((path) => ({
      message: expect.stringContaining(`${path} is of gate 9.1.0, this is gate`),
      fix: "update gate on this machine to 9.1.0 or newer",
    })),
  );
  const refused = await gated.terminal.run(["daemon", "start"]);
  expect(refused).toMatchObject({ code: 1 });
  expect(refused.stderr).toContain("\n  try: update gate on this machine to 9.1.0 or newer\n");
});

test("doctor names a database that another process keeps locked, and checks the others", async () => {
  const gated = await openGatedProject();
  onTestFinished(() => gated.close());
  await gated.write("src/a.txt", "one");
  await gated.good("daemon", "stop");
  const home = join(gated.terminal.folder, ".gate");
  const [registry, ledger] = [join(home, "gate.db"), join(home, "projects", "web", "ledger.db")];
  const newer = new Sqlite(ledger);
  newer.exec(MADE);
  newer.close();
  const holder = new Sqlite(registry);
  holder.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE");
  const { problems } = await diagnose(gated.terminal);
  holder.close();
  expect(problems.filter(({ check }) => check === "ledgers")).toMatchObject([
    {
      message: `Cannot use "${registry}": another process keeps it locked`,
      fix: "stop that process and try again",
    },
    { message: expect.stringContaining(`${ledger} is of gate 9.1.0`) },
  ]);
});

test("a running daemon tells which release a project needs, with the next step", async () => {
  const gated = await openGatedProject();
  onTestFinished(() => gated.close());
  await gated.write("src/a.txt", "one");
  await gated.good("daemon", "stop");
  const database = new Sqlite(
    join(gated.terminal.folder, ".gate", "projects", "web", "ledger.db"),
  );
  database.exec(MADE);
  database.close();
  await gated.good("daemon", "start");
  expect(await gated.terminal.run(["status"])).toMatchObject({ code: 1 });
  expect((await diagnose(gated.terminal)).problems).toContainEqual(
    expect.objectContaining({
      check: "daemon",
      message: expect.stringContaining('project "web": Cannot open'),
      fix: "update gate on this machine to 9.1.0 or newer",
    }),
  );
});
