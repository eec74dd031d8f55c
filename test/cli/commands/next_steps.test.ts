import { chmodSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createTempFolder } from "../../temp_folder.ts";
import { type GatedProject, openGatedProject } from "../gated_project.ts";
import { createTerminal } from "../terminal.ts";

let gated: GatedProject;
beforeAll(async () => void (gated = await openGatedProject("none")));
afterAll(() => gated.close());

test.each([
  [["log", "--project", "none"], "it is not registered", "gate project list"],
  [["pending", "--project", "none"], "it is not registered", "gate project list"],
  [["project", "remove", "none"], "it is not registered", "gate project list"],
  [["workspace", "show", "none"], "there is none", "gate workspace list"],
  [["team", "remove", "none"], "there is none", "gate team list"],
  [["route", "remove", "none"], "there is none", "gate route list"],
  [["session", "show", "none"], "it has none with this id", "gate session list"],
  [["notify", "test"], "no receiver is configured", "gate notify add --help"],
  [["notify", "test", "none"], "there is none", "gate notify list"],
  [
    ["audit", "verify", "none.html"],
    "it does not exist",
    "gate audit export --bundle FILE --project <id>",
  ],
  [
    ["hub", "join"],
    'the accepted global config names no server: it has no "storage": {"url": …}',
    "gate global-config edit",
  ],
  [
    ["gc"],
    "no retention is in force, so contents are kept for ever",
    "set retention.days in the global config, and accept it (gate config accept)",
  ],
])(
  "gate %j names the cause, and the next command on a line of its own",
  async (args, why, next) => {
    const { code, stdout, stderr } = await gated.terminal.run(args);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(/^gate: Cannot .+\n {2}try: .+\n$/);
    expect(stderr).toContain(`: ${why}\n  try: ${next}\n`);
  },
);

test("a receiver that nobody accepts is in the file, and the error says how to go on", async () => {
  const { code, stderr } = await gated.terminal.run(["notify", "add", "desktop", "desk"]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/gate: The change is in config.json, but it waits: .+no proof/);
  expect(stderr).toContain("\n  try: gate config accept\n");
  const config = readFileSync(join(gated.terminal.folder, ".gate", "config.json"), "utf8");
  expect(config).toContain('"desk"');
});

const open = createTempFolder("open");
chmodSync(open, 0o777);

test.each([
  ["/dev/null/home", "a part of its path is not a folder", "set GATE_HOME to a folder"],
  [open, "others may write to it", `chmod go-rwx "${open}"`],
])("init changes nothing beside the home %s", async (GATE_HOME, why, next) => {
  const terminal = await createTerminal({ GATE_HOME });
  onTestFinished(() => terminal.close());
  const { code, stderr } = await terminal.run(["init", "--yes"]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^gate: Cannot use the data folder /);
  expect(stderr).toContain(`: ${why}\n  try: ${next}`);
  expect(existsSync(join(terminal.folder, "project", "gate.config.json"))).toBe(false);
});
