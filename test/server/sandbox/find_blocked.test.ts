import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { BlockedFiles } from "../../../server/sandbox/find_blocked.ts";
import { modulesOf } from "../../../server/runtime/git_folder.ts";
import { createStage } from "./stage.ts";

async function paths(stage: ReturnType<typeof createStage>): Promise<string[]> {
  const found = await stage.blocked.find(stage.root, stage.judge);
  return found!.map(({ path, fate }) => `${fate} ${path.slice(stage.root.length + 1)}`).sort();
}

test("blocked, kept and guarded files are found, also inside git's folders", async () => {
  const stage = createStage({
    "home/user/project/.env": "",
    "home/user/project/a/b/c.pem": "",
    "home/user/project/secrets/x/.env": "",
    "home/user/project/kept/a.sql": "",
    "home/user/project/.vscode/tasks.json": "",
    "home/user/project/node_modules/x/.vscode/a.json": "",
    "home/user/project/node_modules/x/key.pem": "",
    "home/user/project/.git/HEAD": "ref: refs/heads/main\n",
    "home/user/project/.git/config": "",
    "home/user/project/.git/hooks/pre-commit": "",
    "home/user/project/.git/objects/.env": "",
    "home/user/project/.git/refs/x": "",
    "home/user/project/plain.txt": "",
  });
  symlinkSync("plain.txt", join(stage.root, "d.pem"));
  expect(await paths(stage)).toEqual([
    "hidden .env",
    "hidden a/b/c.pem",
    "hidden d.pem",
    "hidden node_modules/x/key.pem",
    "hidden secrets",
    "read_only .git/config",
    "read_only .git/hooks",
    "read_only .vscode",
    "read_only kept",
    "read_only kept/a.sql",
  ]);
});

test("the public certificates of a Python environment are hidden only by a rule about their place", async () => {
  const packages = "home/user/project/.venv/lib/python3.11/site-packages";
  const files = {
    [`${packages}/pip/_vendor/certifi/cacert.pem`]: "",
    [`${packages}/certifi/key.pem`]: "",
    [`${packages}/x/cacert.pem`]: "",
    "home/user/project/certifi/cacert.pem": "",
  };
  const below = ".venv/lib/python3.11/site-packages";
  expect(await paths(createStage(files, { blockedPaths: ["*.pem"] }))).toEqual([
    `hidden ${below}/certifi/key.pem`,
    `hidden ${below}/x/cacert.pem`,
    "hidden certifi/cacert.pem",
  ]);
  expect(await paths(createStage(files, { blockedPaths: [".venv/**/*.pem"] }))).toHaveLength(3);
});

test("each change of a folder is seen, also right after the look before", async () => {
  const stage = createStage({ "home/user/project/a/b/c.txt": "" });
  for (let round = 0; round < 20; round++) {
    const file = join(stage.root, "a/b", `${round}.pem`);
    writeFileSync(file, "");
    expect(await paths(stage), `${round}`).toEqual([`hidden a/b/${round}.pem`]);
    const moved = join(stage.root, `m${round}`);
    mkdirSync(moved);
    renameSync(file, join(moved, "x.pem"));
    expect(await paths(stage), `${round}`).toEqual([`hidden m${round}/x.pem`]);
    rmSync(moved, { recursive: true });
    expect(await paths(stage), `${round}`).toEqual([]);
  }
});

test("another judge looks again", async () => {
  const stage = createStage({ "home/user/project/a.pem": "" });
  expect(await paths(stage)).toEqual(["hidden a.pem"]);
  const blocked = await stage.blocked.find(stage.root, () => null);
  expect(blocked).toEqual([]);
});

test("too many entries are none at all, so that no sandbox hides only some", async () => {
  const stage = createStage();
  for (let at = 0; at < 30; at++) writeFileSync(join(stage.root, `${at}`), "");
  expect(await new BlockedFiles(20).find(stage.root, stage.judge)).toBeNull();
  expect(await new BlockedFiles(40).find(stage.root, stage.judge)).toEqual([]);
});

test("git's submodules are found by names with slashes too, and each change of them is seen", async () => {
  const below = (name: string) => `home/user/project/.git/modules/${name}`;
  const module = (name: string) => ({ [below(`${name}/HEAD`)]: "", [below(`${name}/config`)]: "" });
  const stage = createStage({
    ...{ "home/user/project/.git/HEAD": "", "home/user/project/.git/objects/x": "" },
    ...{ "home/user/project/.git/refs/x": "", ...module("lib"), ...module("third/party/one") },
    ...module("lib/modules/inner"),
  });
  const kept = [
    "read_only .git/modules/lib/config",
    "read_only .git/modules/lib/modules/inner/config",
    "read_only .git/modules/third/party/one/config",
  ];
  expect(await paths(stage)).toEqual(kept);
  stage.write(below("third/party/one/hooks/post-checkout"), "");
  const hooks = "read_only .git/modules/third/party/one/hooks";
  expect(await paths(stage)).toEqual([...kept, hooks]);
  for (let at = 0; at < 200; at++) stage.write(below(`many/${at}/HEAD`), "");
  expect(await paths(stage)).toEqual(["read_only .git/modules"]);
});

test("one folder with very many others ends the search for submodules", () => {
  const stage = createStage({ "home/user/project/.git/modules/a/HEAD": "" });
  for (let at = 0; at < 2_000; at++) {
    stage.write(`home/user/project/.git/modules/a/modules/${at}/HEAD`, "");
  }
  const { folders, is_all } = modulesOf(join(stage.root, ".git"));
  expect(is_all).toBe(false);
  expect(folders[0]).toBe(join(stage.root, ".git/modules/a"));
  expect(folders).toHaveLength(199);
});
