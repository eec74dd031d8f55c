import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createTerminal, type TestTerminal } from "../terminal.ts";

let terminal: TestTerminal;
let file: string;
beforeEach(async () => {
  terminal = await createTerminal();
  file = join(terminal.folder, "project", "gate.config.json");
});
afterEach(async () => {
  await terminal.run(["daemon", "stop"]);
  terminal.close();
});

const init = async (...args: string[]) => {
  const ended = await terminal.run(["init", ...args]);
  expect(ended).toMatchObject({ code: 0 });
  return ended;
};
const config = () => JSON.parse(readFileSync(file, "utf8"));

test("init --yes derives the project id from the folder", async () => {
  await init("--yes");
  expect(config().id).toMatch(/^project-[0-9a-f]{8}$/);
  const before = readFileSync(file, "utf8");
  expect((await init("--yes")).stdout).toContain("needs no change");
  expect(readFileSync(file, "utf8")).toBe(before);
  expect(existsSync(join(terminal.folder, ".gate", "backups"))).toBe(false);
});

test("init fails for a config with an error, which denies everything", async () => {
  await terminal.run(["daemon", "start"]);
  const misspelt = { id: "web", version: "2", policies: { blockedPath: [".env"] } };
  writeFileSync(file, JSON.stringify(misspelt));
  const { code, stderr } = await terminal.run(["init", "--yes"]);
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /gate: Everything is denied until .*did you mean "blockedPaths"\?\n {2}try: /,
  );
});

test("a template only adds to an existing config, and init says so", async () => {
  expect((await init("--yes")).stderr).not.toContain("still allows");
  expect((await init("--yes", "--policy-template", "strict")).stderr).toContain("still allows");
  expect(config().policies.allowedPaths).toContain("src/**");
});

test("init says that the folder is in a project already, but not the second time", async () => {
  await init("--yes");
  const around = join(terminal.folder, "project");
  const cwd = join(around, "sub");
  mkdirSync(cwd);
  const said = `${around} is a project already. Agents that start in this folder or below it`;
  expect((await terminal.run(["init", "--yes", "--dry-run"], { cwd })).stderr).toContain(said);
  expect((await terminal.run(["init", "--yes"], { cwd })).stderr).toContain(said);
  expect((await terminal.run(["init", "--yes"], { cwd })).stderr).not.toContain("already");
});

test("init writes the given id, platforms, template and inheritance", async () => {
  await init(
    ..."--yes --id web --platform claude-code --platform codex".split(" "),
    ..."--policy-template strict --extend-global".split(" "),
  );
  expect(config()).toMatchObject({
    id: "web",
    version: "2",
    extends: "global",
    platforms: ["claude-code", "codex"],
    policies: { defaultEffect: "ask" },
  });
});

test("init shows a new config as a summary, and whole with --verbose", async () => {
  const { stdout } = await init("--yes");
  const lines = stdout.trimEnd().split("\n");
  expect(lines.length).toBeLessThanOrEqual(10);
  expect(lines[0]).toBe(`Creates ${file}:`);
  const policies = config().policies;
  const { length } = policies.allowedCommands;
  const blocked = policies.blockedPaths.length;
  expect(stdout).toContain(`  blocked   ${blocked} paths: .env, .env.local, .env.production, `);
  expect(stdout).toMatch(/\n {12}6 commands: git push --force, git reset --hard, /);
  expect(stdout).toMatch(
    new RegExp(`\\n {12}${length} commands: ls, .* and ${length - 6} more\\n`),
  );
  expect(stdout).toContain("\n  the rest  asks you first\n");
  expect(stdout).toContain("--verbose shows every rule");
});

test.each([
  ["strict", "asks you first"],
  ["permissive", "is allowed"],
])("the summary of %s says that the rest %s", async (template, rest) => {
  const { stdout } = await init("--dry-run", "--policy-template", template);
  expect(stdout).toContain(`  the rest  ${rest}\n`);
});

test("a template that adds much to a config shows the first lines, --verbose all of them", async () => {
  writeFileSync(file, '{ "id": "web" }\n');
  const { stdout } = await init("--dry-run", "--policy-template", "balanced");
  const [, left] = /\n {2}… (\d+) more lines: --verbose shows them\n$/.exec(stdout)!;
  expect(stdout.split("\n").length).toBeLessThan(25);
  const whole = await init("--dry-run", "--policy-template", "balanced", "--verbose");
  expect(whole.stdout.split("\n").length).toBe(stdout.split("\n").length - 1 + Number(left));
});

test("init --dry-run --verbose shows all changes and writes nothing", async () => {
  const args = ["--dry-run", "--verbose", "--id", "web", "--policy-template", "permissive"];
  const { stdout } = await init(...args);
  expect(stdout).toContain('"id": "web"');
  expect(existsSync(file)).toBe(false);
  expect(readdirSync(terminal.folder)).toEqual(["project"]);
});

test("init keeps comments, unknown keys and the mode, and writes a backup", async () => {
  const before = '{\n  // ours\n  "x": [1, 2],\n  "policies": { "defaultEffect": "deny" }\n}\n';
  writeFileSync(file, before, { mode: 0o640 });
  const { stdout } = await init("--yes", "--id", "web");
  expect(stdout).toContain('+   "id": "web"');
  const after = readFileSync(file, "utf8");
  expect(after).toContain("// ours");
  expect(after).toContain('"x": [1, 2]');
  expect(after).toContain('"defaultEffect": "deny"');
  expect(statSync(file).mode & 0o777).toBe(0o640);
  const backups = join(terminal.folder, ".gate", "backups");
  const [copy] = readdirSync(backups);
  expect(readFileSync(join(backups, copy!), "utf8")).toBe(before);
});

test("init refuses the home folder, and a config that is not a plain file", async () => {
  const home = await terminal.run(["init", "--yes"], { cwd: terminal.folder });
  expect(home).toMatchObject({ code: 1, stdout: "" });
  expect(home.stderr).toContain("a project needs a folder of its own");
  writeFileSync(join(terminal.folder, "elsewhere.json"), "{}");
  symlinkSync(join(terminal.folder, "elsewhere.json"), file);
  expect((await terminal.run(["init", "--yes"])).stderr).toContain(
    "it is a symbolic link or a folder",
  );
  expect(readFileSync(join(terminal.folder, "elsewhere.json"), "utf8")).toBe("{}");
});

test("global-config init, show and edit", async () => {
  const path = join(terminal.folder, ".gate", "config.json");
  expect((await terminal.run(["global-config", "init", "--dry-run"])).stdout).toContain(
    "blockedPaths",
  );
  expect(existsSync(path)).toBe(false);
  expect(await terminal.run(["global-config", "init"])).toMatchObject({ code: 0 });
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const written = readFileSync(path, "utf8");
  expect(JSON.parse(written)).toMatchObject({
    version: "1",
    policies: { maxBashOutputBytes: 65536 },
  });
  expect((await terminal.run(["global-config", "init"])).stdout).toContain("already exists");
  const shown = await terminal.run(["global-config", "show", "--json"]);
  expect(JSON.parse(shown.stdout)).toEqual(JSON.parse(written));

  const edit = (script: string) => {
    terminal.env.EDITOR = script;
    return terminal.run(["global-config", "edit"]);
  };
  expect((await edit("true")).stdout).toContain("Nothing was changed");
  const broken = await edit("sed -i.bak 's/{/[/'");
  expect(broken).toMatchObject({ code: 1 });
  expect(broken.stderr).toMatch(/Cannot read .*line \d+/);
  expect((await edit("sed -i.bak 's/\"\\.env\"/7/'")).stderr).toContain("nothing changed");
  expect((await edit("false")).stderr).toContain("nothing changed");
  expect(readFileSync(path, "utf8")).toBe(written);
  expect(await edit("sed -i.bak 's/65536/1024/'")).toMatchObject({ code: 0 });
  expect(readFileSync(path, "utf8")).toBe(written.replace("65536", "1024"));
  // Another program changed the file first: its version stays, and the edit is kept.
  const raced = await edit(`sed -i.bak 's/1024/4096/' '${path}'; sed -i.bak 's/1024/512/'`);
  expect(raced).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("another program changed it"),
  });
  expect(readFileSync(path, "utf8")).toBe(written.replace("65536", "4096"));
});

test("global-config edit begins a file that is not there, and only if something was changed", async () => {
  const path = join(terminal.folder, ".gate", "config.json");
  const edit = (script: string) => {
    terminal.env.EDITOR = script;
    return terminal.run(["global-config", "edit"]);
  };
  expect((await edit("true")).stdout).toBe("Nothing was changed.\n");
  expect((await edit("sed -i.bak 's/65536/-1/'")).code).toBe(1);
  expect(existsSync(path)).toBe(false);
  expect(await edit("sed -i.bak 's/65536/1024/'")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("Saved."),
  });
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({
    policies: { blockedPaths: expect.anything(), maxBashOutputBytes: 1024 },
  });
});

test("global-config edit keeps a refused text and continues with it", async () => {
  const path = join(terminal.folder, ".gate", "config.json");
  await terminal.run(["global-config", "init"]);
  const edit = (script: string, ...more: string[]) => {
    terminal.env.EDITOR = script;
    return terminal.run(["global-config", "edit", ...more]);
  };
  const { stderr } = await edit("sed -i.bak 's/65536/-1/'");
  const [, kept] = /your text is kept in (.*)\n {2}try: gate global-config edit --draft \1\n/
    .exec(stderr)!;
  expect(readFileSync(path, "utf8")).toContain("65536");
  expect(await edit("sed -i.bak 's/-1/2048/'", "--draft", kept!)).toMatchObject({ code: 0 });
  expect(readFileSync(path, "utf8")).toContain("2048");
});

test("without a daemon, init leaves the registration to the next start", async () => {
  mkdirSync(join(terminal.folder, ".gate"), { mode: 0o700 });
  const { stdout } = await init("--yes", "--id", "web");
  expect(stdout).toContain("is registered when the daemon starts");
  const { stdout: list } = await terminal.run(["project", "list", "--json"]);
  expect(JSON.parse(list)).toMatchObject([{
    id: "web",
    roots: [join(terminal.folder, "project")],
  }]);
  expect((await terminal.run(["init", "--yes"])).stdout).toContain("Registered as web.");
  expect(await terminal.run(["daemon", "stop"])).toMatchObject({ code: 0, stdout: "Stopped.\n" });
});
