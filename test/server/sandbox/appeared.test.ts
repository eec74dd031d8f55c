import { Buffer } from "node:buffer";
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, test } from "vitest";
import type { SandboxEngine } from "../../../server/environment.ts";
import { BlockedFiles } from "../../../server/sandbox/find_blocked.ts";
import { type Before, RunningCommands } from "../../../server/sandbox/running.ts";
import { judgeOf } from "../../../server/sandbox/judge.ts";
import { longestRun, Sandboxes } from "../../../server/sandbox/sandboxes.ts";
import { createTempFolder } from "../../temp_folder.ts";
import { createStage } from "./stage.ts";

/** Nothing runs: the tests change the files as a command would. */
const ENGINE: SandboxEngine = {
  name: "bubblewrap",
  path: "/usr/bin/bwrap",
  version: "0.8.0",
  can_mask: true,
};
const GIT = "home/user/project/.git";
const REPOSITORY = { [`${GIT}/HEAD`]: "", [`${GIT}/objects/x`]: "", [`${GIT}/refs/x`]: "" };

const module = (name: string) => ({
  [`${GIT}/modules/${name}/HEAD`]: "",
  [`${GIT}/modules/${name}/config`]: "",
});

/** What appeared below git's folder while these changes were made. */
async function appearedBy(
  files: Record<string, string>,
  change: (stage: ReturnType<typeof createStage>) => void,
  { restarts = false, blocked = new BlockedFiles() } = {},
): Promise<string[]> {
  const stage = createStage({ ...REPOSITORY, ...files });
  const { compiled, around, root, gate_home } = stage;
  const start = () => new Sandboxes(gate_home, () => Promise.resolve(ENGINE), Date.now, blocked);
  const sandboxes = start();
  await sandboxes.build({
    ...{ action_id: "one", session_id: "session", command: "true", cwd: root },
    sandbox: { engine: "bubblewrap", network: "loopback", masked: [], writable: [] },
    opened: { hosts: [], writable: [], readable: [] },
    ...{ compiled, around, projects: [root] },
  });
  change(stage);
  const later = restarts ? start() : sandboxes;
  const found = await later.appeared("one", { compiled, around });
  later.end("one");
  expect(later.knows("one")).toBe(false);
  expect(await later.appeared("one", { compiled, around })).toEqual([]);
  return found.map(({ path }) => relative(join(root, ".git"), path));
}

test("no number of new folders makes the folder of all submodules a new one", async () => {
  const appeared = await appearedBy(module("lib"), (stage) => {
    for (let at = 0; at < 201; at++) stage.write(`${GIT}/modules/x${at}/y`, "");
    stage.write(`${GIT}/modules/lib/hooks/post-checkout`, "");
  });
  expect(appeared).toEqual(["modules/lib/hooks"]);
});

test("a new submodule is found beside any number of new folders", async () => {
  const appeared = await appearedBy(module("lib"), (stage) => {
    for (let at = 0; at < 201; at++) stage.write(`${GIT}/modules/a${at}/y`, "");
    stage.write(`${GIT}/modules/later/HEAD`, "");
    stage.write(`${GIT}/modules/later/config`, "");
  });
  expect(appeared).toEqual(["modules/later"]);
});

test("a new submodule is found in a folder with any number of others", async () => {
  const appeared = await appearedBy(module("lib"), (stage) => {
    for (let at = 0; at < 201; at++) stage.write(`${GIT}/modules/third/a${at}/y`, "");
    stage.write(`${GIT}/modules/third/later/config`, "");
  });
  expect(appeared).toEqual(["modules/third"]);
});

test.each(["modules", "modules/later"])("a link in place of %s is new", async (link) => {
  const appeared = await appearedBy({}, (stage) => {
    stage.write("home/user/project/other/config", "");
    mkdirSync(dirname(join(stage.root, ".git", link)), { recursive: true });
    symlinkSync(join(stage.root, "other"), join(stage.root, ".git", link));
  });
  expect(appeared).toEqual([link]);
});

test("a link through which git would read or write is new, also in a submodule", async () => {
  const names = ["COMMIT_EDITMSG", "rebase-merge/message", "modules/lib/refs/heads"];
  const appeared = await appearedBy(module("lib"), (stage) => {
    for (const name of names) {
      mkdirSync(dirname(join(stage.root, ".git", name)), { recursive: true });
      symlinkSync(join(stage.root, "other"), join(stage.root, ".git", name));
    }
    symlinkSync("refs/heads/main", join(stage.root, ".git/X_HEAD"));
  });
  expect(appeared.toSorted()).toEqual(names.toSorted());
});

test("an entry of a list of objects is new, and those from before stay", async () => {
  const list = `${GIT}/objects/info/alternates`;
  const stay = await appearedBy({ [list]: "/var/empty\n" }, () => {});
  expect(stay).toEqual([]);
  const appeared = await appearedBy({ [list]: "/var/empty\n" }, (stage) => {
    // The content of the other folder is not the command's, and stays.
    mkdirSync(join(stage.root, "other/info"), { recursive: true });
    writeFileSync(join(stage.root, "other/info/alternates"), "/var/empty\n");
    symlinkSync("/var/empty", join(stage.root, "other/link"));
    stage.write(list, "/var/empty\n../../other\n");
  });
  expect(appeared).toEqual(["objects/info/alternates"]);
});

test("no number of new working trees makes the folder of all of them a new one", async () => {
  const own = { [`${GIT}/worktrees/a/commondir`]: "../.." };
  const appeared = await appearedBy(own, (stage) => {
    for (let at = 0; at < 51; at++) stage.write(`${GIT}/worktrees/x${at}/y`, "");
    stage.write(`${GIT}/worktrees/a/config.worktree`, "");
  });
  expect(appeared).toEqual(["worktrees/a/config.worktree"]);
});

test("what was kept as a whole is not new once it is few enough", async () => {
  const many = Array.from({ length: 201 }, (_, at) => module(`x${at}`));
  const appeared = await appearedBy(Object.assign({}, ...many), (stage) => {
    for (let at = 1; at < 201; at++) {
      rmSync(join(stage.root, `.git/modules/x${at}`), { recursive: true });
    }
  });
  expect(appeared).toEqual([]);
});

test("a folder around a submodule is not new, whatever its own parent becomes", async () => {
  const appeared = await appearedBy(module("third/hooks"), (stage) => {
    stage.write(`${GIT}/modules/third/HEAD`, "");
    stage.write(`${GIT}/modules/third/config`, "");
  });
  expect(appeared).toEqual(["modules/third/config"]);
});

test("settings of a submodule without a HEAD are new", async () => {
  const appeared = await appearedBy(module("lib"), (stage) => {
    stage.write(`${GIT}/modules/x/config`, "");
  });
  expect(appeared).toEqual(["modules/x/config"]);
});

test("what a command plants is found also if the daemon restarts meanwhile", async () => {
  const files = {
    ...module("lib"),
    [`${GIT}/rebase-merge/git-rebase-todo`]: "exec old\n",
    "home/user/project/.env": "KEY=1\n",
    "home/user/project/a/secrets/x": "KEY=1\n",
  };
  const appeared = await appearedBy(files, (stage) => {
    stage.write("home/user/project/b/.env", "");
    stage.write("home/user/project/a/secrets/y", "");
    stage.write("home/user/project/plain", "");
    stage.write(`${GIT}/modules/lib/hooks/post-checkout`, "");
    stage.write(`${GIT}/rebase-merge/git-rebase-todo`, "exec old\nexec new\n");
  }, { restarts: true });
  expect(appeared.toSorted())
    .toEqual(["../b/.env", "modules/lib/hooks", "rebase-merge/git-rebase-todo"]);
});

test("a start keeps the private folders of commands that run, and no others", async () => {
  const stage = createStage();
  const { compiled, around, root, gate_home } = stage;
  const start = () => new Sandboxes(gate_home, () => Promise.resolve(ENGINE), Date.now);
  for (const session_id of ["running", "ended"]) {
    const sandboxes = start();
    await sandboxes.build({
      ...{ action_id: `of ${session_id}`, session_id, command: "true", cwd: root },
      sandbox: { engine: "bubblewrap", network: "loopback", masked: [], writable: [] },
      opened: { hosts: [], writable: [], readable: [] },
      ...{ compiled, around, projects: [root] },
    });
    if (session_id === "ended") sandboxes.end("of ended");
  }
  start();
  expect(readdirSync(join(gate_home, "sandbox"))).toEqual(["running"]);
});

const beforeOf = (started_at: number): Before => ({
  ...{
    session_id: "session",
    started_at,
    at_most_ms: 1,
    folders: [],
    writes_elsewhere: false,
    paths: new Set(),
    whole: [],
  },
  ...{ git: new Map(), links: new Map() },
  programs: { search_paths: [], names: new Map() },
});

test("a command of an earlier daemon keeps its side until it has ended", async () => {
  const stage = createStage();
  const { compiled, around, root, gate_home } = stage;
  let now = Date.UTC(2026, 0, 1);
  const start = () => new Sandboxes(gate_home, () => Promise.resolve(ENGINE), () => now);
  await start().build({
    ...{ action_id: "one", session_id: "session", command: "true", cwd: root },
    sandbox: { engine: "bubblewrap", network: "loopback", masked: [], writable: [] },
    opened: { hosts: [], writable: [], readable: [] },
    ...{ compiled, around, projects: [root] },
  });
  const other = { action_id: "two", folders: [root], at_most_ms: 1_000 };
  const restarted = start();
  expect(restarted.lanes.outside("key", other)).toBe(false);
  restarted.lanes.end("one");
  expect(restarted.lanes.outside("key", other)).toBe(true);
  now += longestRun(compiled);
  expect(start().lanes.outside("key", other)).toBe(true);
});

test("a state that was written in part does not hide the whole one before it", () => {
  const gate_home = createTempFolder("running");
  const folder = join(gate_home, "run", "walls");
  const at = Date.UTC(2026, 0, 1);
  new RunningCommands(gate_home, () => at).start("one", beforeOf(at));
  // A crash leaves the file that was not renamed yet.
  writeFileSync(join(folder, "one.json.new"), '{"session_id":');
  const later = new RunningCommands(gate_home, () => at);
  expect([...later.all().keys()]).toEqual(["one"]);
  expect(readdirSync(folder)).toEqual(["one.json"]);
});

test("the given clock decides when a command can run no more", () => {
  const gate_home = createTempFolder("running");
  const at = Date.UTC(2026, 0, 1);
  new RunningCommands(gate_home, () => at).start("one", beforeOf(at));
  const hours = (count: number) => () => at + count * 3_600_000;
  expect(new RunningCommands(gate_home, hours(48)).find("one")).not.toBeNull();
  expect(new RunningCommands(gate_home, hours(50)).find("one")).toBeNull();
});

describe("a working tree of the repository", () => {
  const OWN = `${GIT}/worktrees/side`;
  const PROJECT = "home/user/project";
  const tree = (stage: ReturnType<typeof createStage>, { at = OWN, common = "../..\n" } = {}) => {
    const own = join(stage.base, at);
    stage.write(`${PROJECT}/side/.git`, `gitdir: ${own}\n`);
    stage.write(`${at}/HEAD`, "ref: refs/heads/side\n");
    stage.write(`${at}/gitdir`, `${stage.root}/side/.git\n`);
    stage.write(`${at}/commondir`, common);
  };

  test("stays, because git takes settings and hooks from the repository", async () => {
    expect(await appearedBy({}, (stage) => tree(stage))).toEqual([]);
  });

  test.each<[string, string[], (stage: ReturnType<typeof createStage>) => void]>([
    [
      "that shares another folder",
      ["../side/.git", "worktrees/side/commondir"],
      (stage) => tree(stage, { common: "../../../other\n" }),
    ],
    [
      "of a folder that the command made",
      ["../side/.git", "../other/worktrees/side/commondir"],
      (stage) => tree(stage, { at: `${PROJECT}/other/worktrees/side` }),
    ],
    ["behind a link", [
      "../side/.git",
      "../other/commondir",
      "worktrees/side",
      "worktrees/side/commondir",
    ], (stage) => {
      tree(stage, { at: `${PROJECT}/other` });
      mkdirSync(join(stage.root, ".git/worktrees"));
      symlinkSync("../../other", join(stage.root, ".git/worktrees/side"));
      stage.write(`${PROJECT}/side/.git`, `gitdir: ${join(stage.base, OWN)}\n`);
    }],
    ["with settings of its own", ["worktrees/side/config.worktree"], (stage) => {
      tree(stage);
      stage.write(`${OWN}/config.worktree`, "[core]\n");
    }],
    ["whose file is a link", ["../side/.git"], (stage) => {
      tree(stage);
      rmSync(join(stage.root, "side/.git"));
      stage.write(`${PROJECT}/named`, `gitdir: ${join(stage.base, OWN)}\n`);
      symlinkSync("../named", join(stage.root, "side/.git"));
    }],
  ])("%s is moved away", async (_, expected, change) => {
    expect((await appearedBy({}, change)).toSorted()).toEqual(expected.toSorted());
  });
});

test("a folder of git without its HEAD is git's own", async () => {
  const appeared = await appearedBy({}, (stage) => {
    rmSync(join(stage.root, ".git/HEAD"));
    stage.write(`${GIT}/hooks/pre-commit`, "");
  });
  expect(appeared).toEqual(["hooks"]);
});

test.each(["vendor/lib", "node_modules/a", "target/x"])(
  "a file .git of the dependency %s is found, whatever it leads to",
  async (folder) => {
    const appeared = await appearedBy({}, (stage) => {
      stage.write(`${GIT}/other/config`, "[core]\n\tfsmonitor = x\n");
      stage.write(`home/user/project/${folder}/.git`, "gitdir: ../../.git/other\n");
      mkdirSync(join(stage.root, folder, "in"));
      symlinkSync("../../../.git/other", join(stage.root, folder, "in/.git"));
    });
    expect(appeared).toEqual([`../${folder}/.git`, `../${folder}/in/.git`]);
  },
);

test("no number of files hides what else a command left", async () => {
  const planted = (count: number) => (stage: ReturnType<typeof createStage>) => {
    for (let at = 0; at < count; at++) stage.write(`home/user/project/many/${at}`, "");
    stage.write("home/user/project/sub/.envrc", "");
  };
  const found = await appearedBy({}, planted(30), { blocked: new BlockedFiles(20, 1_000) });
  expect(found).toEqual(["../sub/.envrc"]);
  // Where gate cannot look through everything, it says so.
  const told = await appearedBy({}, planted(30), { blocked: new BlockedFiles(20, 25) });
  expect(told).toContain("..");
});

test("a project below a folder with a dependency's name is no dependency", () => {
  const { compiled, around } = createStage();
  const roots = ["/home/user/vendor/app"];
  const judge = judgeOf(compiled, { ...around, roots });
  expect(judge("/home/user/vendor/app/sub/.vscode")).toBe("read_only");
  expect(judge("/home/user/vendor/app/sub/.bashrc")).toBe("read_only");
  expect(judge("/home/user/vendor/app/vendor/x/.vscode")).toBeNull();
});

test("a folder whose name is no text is found", async () => {
  const appeared = await appearedBy({}, (stage) => {
    const name = Buffer.concat([Buffer.from(join(stage.root, "a")), Buffer.from([0xff])]);
    execFileSync("/bin/sh", ["-c", 'mkdir "$(printf \'%s\\377\' "$0")"', join(stage.root, "a")]);
    expect(readdirSync(stage.root)).toContain(name.toString("utf8").slice(stage.root.length + 1));
  });
  expect(appeared).toEqual(["../a\uFFFD"]);
});
