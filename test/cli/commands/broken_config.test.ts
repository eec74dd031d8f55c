import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CONFIG, type GatedProject, openGatedProject } from "../gated_project.ts";

let gated: GatedProject;
let config: string;
beforeAll(async () => {
  gated = await openGatedProject();
  config = join(gated.folder, "gate.config.json");
});
afterAll(() => gated.close());

test("a config that becomes unreadable is named as broken everywhere, and never to be accepted", async () => {
  writeFileSync(config, '{\n  "id": "web",\n  "policies": ,\n}\n');
  const error = /Everything is denied until the config is fixed: .*:3:15: not valid JSON/;

  const status = await gated.good("status");
  expect(status.stdout).toMatch(/runs, not healthy/);
  expect(status.stdout).toMatch(error);
  expect(status.stdout).not.toMatch(/accept/);

  // The folder stays in its project although its config names none.
  const shown = await gated.good("config", "show");
  expect(shown.stdout).toMatch(error);
  expect(shown.stdout).toMatch(/changed .*, broken\n {2}Correct the file/);
  expect(shown.stdout).not.toMatch(/gate config accept/);
  expect((await gated.terminal.run(["policy", "test", "--command", "ls"])).stdout).toMatch(error);

  const accepted = await gated.terminal.run(["config", "accept"]);
  expect(accepted).toMatchObject({ code: 1, stdout: "" });
  expect(accepted.stderr).toMatch(
    /:3:15: not valid JSON: value expected\n {2}try: correct .*config/,
  );

  const { findings } = JSON.parse((await gated.terminal.run(["doctor", "--json"])).stdout);
  const problems = findings.filter(({ level }: { level: string }) => level === "problem");
  expect(problems).toMatchObject([{ check: "config", fix: `correct ${config}` }]);

  writeFileSync(config, JSON.stringify(CONFIG));
  expect((await gated.good("status")).stdout).toContain("runs, healthy");
});

test.each(["", "\uFEFF"])(
  "a config in UTF-16 (mark %j) says that it must be UTF-8",
  async (mark) => {
    writeFileSync(config, Buffer.from(mark + JSON.stringify(CONFIG), "utf16le"));
    const error = `${config}:1:1: the file is not UTF-8; save it as UTF-8`;
    expect((await gated.good("config", "show")).stdout).toContain(error);
    expect((await gated.good("status")).stdout).toContain(error);
    writeFileSync(config, JSON.stringify(CONFIG));
    expect((await gated.good("status")).stdout).toContain("runs, healthy");
  },
);

test("an unknown key at the top is named by status and doctor", async () => {
  writeFileSync(config, JSON.stringify({ ...CONFIG, colour: "red" }));
  const told = /"colour" in \S+ has no effect: no such key is known/;
  expect((await gated.good("status")).stdout).toMatch(told);
  expect((await gated.terminal.run(["doctor", "--json"])).stdout).toMatch(/colour.*no such key/);
  writeFileSync(config, JSON.stringify(CONFIG));
});

test("doctor takes the next step about a config that is gone from the daemon", async () => {
  rmSync(config);
  const { findings } = JSON.parse((await gated.terminal.run(["doctor", "--json"])).stdout);
  expect(findings.filter(({ level }: { level: string }) => level === "problem"))
    .toContainEqual(expect.objectContaining({
      message: expect.stringContaining("is gone: "),
      fix: "put the file back, or run gate init in the project's new folder",
    }));
  writeFileSync(config, JSON.stringify(CONFIG));
});

test("a new project with a broken config is a problem of its own, and init fails in it", async () => {
  const folder = join(gated.terminal.folder, "other");
  mkdirSync(folder);
  const broken = { id: "other", version: "2", policies: { blockedPath: [".env"] } };
  writeFileSync(join(folder, "gate.config.json"), JSON.stringify(broken));
  const other = (args: string[]) => gated.terminal.run(args, { cwd: folder });
  expect(await other(["init", "--yes"])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^gate: Everything is denied .*"blockedPaths"\?\n {2}try: /m),
  });
  expect((await gated.good("daemon", "status")).stdout).not.toContain("nobody has accepted");
  await gated.good("project", "remove", "other");
});

test.each([
  [{ version: "3" }, 'version: this gate knows versions up to "2"; upgrade gate'],
  [{ policies: { allowedCommands: [3] } }, "allowedCommands.0: must be a text or an object"],
  [
    { policies: { blockedPaths: [{ pattern: ".env", reason: 5 }] } },
    "blockedPaths.0.reason: must be a text, not a number",
  ],
])("the config %j denies everything and names the cause", async (part, cause) => {
  writeFileSync(config, JSON.stringify({ ...CONFIG, ...part }));
  const { code, stdout } = await gated.terminal.run(["policy", "test", "--command", "ls"]);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^deny: Everything is denied until the config is fixed: /);
  expect(stdout).toContain(cause);
  writeFileSync(config, JSON.stringify(CONFIG));
});

test("a global config of a newer version is refused", async () => {
  const path = join(gated.terminal.folder, ".gate", "config.json");
  writeFileSync(path, '{"version": "2", "approvals": {"proof": "token"}}');
  const { stdout } = await gated.terminal.run(["policy", "test", "--command", "ls"]);
  expect(stdout).toContain('version: this gate knows versions up to "1"; upgrade gate');
});
