import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { CONFIG, type GatedProject, openGatedProject } from "../gated_project.ts";

let gated: GatedProject;
beforeAll(async () => void (gated = await openGatedProject()));
afterAll(() => gated.close());

const config = () => join(gated.folder, "gate.config.json");
const status = async () => (await gated.good("status")).stdout;

test("status reports a broken config with its place, and that every action is denied", async () => {
  const good = readFileSync(config(), "utf8");
  expect(await status()).not.toContain("! ");
  writeFileSync(config(), '{\n  "id": "web",\n  "policies": ,\n}\n');
  expect(await status()).toMatch(/! Everything is denied .*:3:15: not valid JSON: value expected/);
  rmSync(config());
  expect(await status()).toMatch(
    /belongs to web\n! ".*" is gone: the rules .* accepted last apply/,
  );
  writeFileSync(config(), good);
  expect(await status()).not.toContain("! ");
});

test("only a registered project's override can be trusted", async () => {
  for (const id of ["nosuch", "../x"]) {
    for (const more of [[], ["--revoke"]]) {
      expect(await gated.terminal.run(["project", "trust-override", id, ...more])).toMatchObject({
        code: 1,
        stdout: "",
        stderr: expect.stringMatching(/^gate: Cannot find .*\n/),
      });
    }
  }
  expect((await gated.good("project", "trust-override", "web")).stdout).toBe(
    "gate now lets web's overrideGlobal setting replace the machine's rules. " +
      "To stop: gate project trust-override web --revoke\n",
  );
  // No file that another program could write keeps the trust.
  expect(existsSync(join(gated.terminal.folder, ".gate", "trust.json"))).toBe(false);
  await gated.good("project", "trust-override", "web", "--revoke");
});

/** A newer release may know the key, and the entries of the known one are gone. */
const WAITS = expect.stringContaining("waits: a person must accept the change");

test("status reports a misspelt key, which has no effect", async () => {
  const { allowedPaths: allowedPath, ...others } = CONFIG.policies;
  writeFileSync(config(), JSON.stringify({ ...CONFIG, policies: { ...others, allowedPath } }));
  expect(await status()).toContain(
    '! "allowedPath" in the policies of gate.config.json has no effect: did you mean "allowedPaths"?',
  );
  const { health } = await gated.json("status", "--json");
  expect(health).toMatchObject({
    error: null,
    warnings: [expect.stringContaining("allowedPath"), WAITS],
  });
});

test("a folder whose id has changed belongs to the new project, and its older records are named", async () => {
  rmSync(config());
  const { stdout, stderr } = await gated.good("init", "--yes", "--id", "shop");
  expect(stdout).toContain("Registered as shop.\n");
  expect(stderr).toContain("was the project web before. Its records stay there");
  expect(await status()).toContain("This folder belongs to shop\n");
  const back = await gated.good("init", "--yes", "--id", "web");
  expect(back.stderr).toContain("gate log --project shop\n");
  expect(await status()).toContain("This folder belongs to web\n");
});

test("the first status after a damage is not healthy", async () => {
  const damaged = await openGatedProject();
  onTestFinished(() => damaged.close());
  await damaged.write("src/a.txt", "one");
  await damaged.good("daemon", "stop");
  const ledger = join(damaged.terminal.folder, ".gate", "projects", "web", "ledger.db");
  writeFileSync(ledger, "garbage");
  await damaged.good("daemon", "start");
  const { stdout } = await damaged.good("status");
  expect(stdout).toContain("runs, not healthy");
  expect(stdout).toContain('! damaged ledger of "web" kept, a new one was begun');
});
