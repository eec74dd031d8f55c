import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { restore } from "../../../server/actions/guarding/restore.ts";
import { compare } from "../../../server/actions/guarding/snapshot.ts";
import { BlockedFiles } from "../../../server/sandbox/find_blocked.ts";
import { Sandboxes } from "../../../server/sandbox/sandboxes.ts";
import { createStage } from "./stage.ts";

/** Nothing runs: the tests change the files as a command would. */
const ENGINE = {
  ...{ name: "bubblewrap", path: "/usr/bin/bwrap", version: "0.8.0", can_mask: true } as const,
};
/** A user for whom permissions count, as they do not for root. */
const USER = 12_345;
const isRoot = process.geteuid?.() === 0;
/** Whether that user can enter the folder of temporary files. */
const isEntered = (statSync(tmpdir()).mode & 0o001) !== 0;
const canRun = process.geteuid !== undefined && (!isRoot || (isEntered && "seteuid" in process));
if (!canRun) console.error("NOT RUN: no user here for whom closed folders are closed");

const GIT = "home/user/project/.git";

describe.runIf(canRun)("a command closes folders", () => {
  let stage: ReturnType<typeof createStage>;

  beforeAll(() => {
    stage = createStage({
      "home/user/project/config/.env": "SECRET=1",
      "home/user/project/docs/a.md": "",
      [`${GIT}/HEAD`]: "",
      [`${GIT}/refs/x`]: "",
      [`${GIT}/objects/x`]: "",
      [`${GIT}/modules/lib/HEAD`]: "",
      [`${GIT}/modules/lib/config`]: "",
      [`${GIT}/worktrees/a/commondir`]: "../..",
    });
    if (!isRoot) return;
    execFileSync("chown", ["-R", `${USER}:${USER}`, stage.base]);
    process.seteuid!(USER);
  });

  afterAll(() => {
    if (isRoot) process.seteuid!(0);
  });

  const close = (path: string, mode: number) => chmodSync(join(stage.root, path), mode);
  const open = (path: string) => close(path, 0o755);
  const shown = (paths: readonly string[]) => paths.map((path) => relative(stage.root, path));

  test.each([0o311, 0o111, 0o000])("mode %o: it is hidden with its secret", async (mode) => {
    close("config", mode);
    const { walls } = await stage.walls("true");
    expect(walls.mounts).toContainEqual({ at: join(stage.root, "config"), as: "hidden_folder" });
    open("config");
  });

  test.each([0o311, 0o000])(
    "mode %o: a project that is closed itself has no walls",
    async (mode) => {
      close(".", mode);
      await expect(stage.walls("true")).rejects.toThrow(/cannot be read/);
      open(".");
    },
  );

  test.each([
    [".git/modules", ".git/modules/lib/config"],
    [".git/modules/lib", ".git/modules/lib/config"],
    [".git/worktrees", ".git/worktrees/a/commondir"],
    [".git/worktrees/a", ".git/worktrees/a/commondir"],
  ])("what is in %s stays read-only", async (folder, file) => {
    close(folder, 0o311);
    const { walls } = await stage.walls("true");
    expect(walls.mounts).toContainEqual({ at: join(stage.root, file), as: "read_only" });
  });

  test("what it planted behind one of them is found, and moved away", async () => {
    const sandboxes = new Sandboxes(stage.gate_home, () => Promise.resolve(ENGINE), Date.now);
    const { compiled, around, root } = stage;
    await sandboxes.build({
      ...{ action_id: "one", session_id: "session", command: "true", cwd: root },
      sandbox: { engine: "bubblewrap", network: "loopback", masked: [], writable: [] },
      opened: { hosts: [], writable: [], readable: [] },
      ...{ compiled, around, projects: [root] },
    });
    for (const path of ["docs/.envrc", "new/deep/.vscode/tasks.json", "ro/.envrc"]) {
      stage.write(join("home/user/project", path), "planted");
    }
    stage.write(`${GIT}/rebase-merge/git-rebase-todo`, "exec x\n");
    const closed = ["docs", "new/deep/.vscode", "new/deep", "new", ".git/rebase-merge"];
    for (const folder of closed) close(folder, 0o111);
    close("ro", 0o555);
    const found = await sandboxes.appeared("one", { compiled, around });
    expect(shown(found.map(({ path }) => path)).toSorted()).toEqual([
      ".git/rebase-merge/git-rebase-todo",
      "docs/.envrc",
      "new/deep/.vscode",
      "ro/.envrc",
    ]);
    expect(readdirSync(join(root, "docs")).toSorted()).toEqual([".envrc", "a.md"]);
    close("new/deep/.vscode", 0o111);
    for (const { path } of found) {
      const [created] = compare([{ path, deep: false }], new Map());
      const { restored, quarantine } = restore(created!, join(stage.base, "quarantine"), {
        follows: false,
      });
      expect({ path, restored, isThere: existsSync(path) })
        .toEqual({ path, restored: true, isThere: false });
      expect(dirname(quarantine!)).toBe(join(stage.base, "quarantine"));
    }
  });

  test("one that was closed before is hidden, and stays as it is", async () => {
    mkdirSync(join(stage.root, "other"));
    close("other", 0o311);
    const found = await new BlockedFiles().find(join(stage.root, "other"), stage.judge);
    expect(found).toEqual([{ path: join(stage.root, "other"), fate: "hidden", kind: "folder" }]);
    expect(statSync(join(stage.root, "other")).mode & 0o777).toBe(0o311);
    expect(readFileSync(join(stage.root, "config/.env"), "utf8")).toBe("SECRET=1");
  });
});
