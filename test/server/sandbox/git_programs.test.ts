import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { runsOwnPrograms } from "../../../server/sandbox/git_programs.ts";
import { createTempFolder } from "../../temp_folder.ts";

const FILTER = '[filter "x"]\n\tclean = sh x\n';
const gitFolder = (at: string, config: string) => ({
  [`${at}/HEAD`]: "ref: refs/heads/main\n",
  [`${at}/objects/.keep`]: "",
  [`${at}/refs/.keep`]: "",
  [`${at}/config`]: config,
});
const NESTED = { ...gitFolder("sub/.git", FILTER), "sub/deep/a": "" };
const PLAIN = gitFolder("sub/.git", "[user]\n\tname = a\n");
const BARE = gitFolder("bare", FILTER);
const HOOK = { ".git/hooks/pre-commit": "" };

test.each<[string, Record<string, string>, string, boolean]>([
  ["no repository", {}, "git commit -m x", false],
  ["plain settings", { ".git/config": "[user]\n\tname = a\n" }, "git commit -m x", false],
  ["samples of hooks", { ".git/hooks/pre-commit.sample": "" }, "git commit -m x", false],
  ["a hook", HOOK, "git commit -m status", true],
  ["a hook, by an option", HOOK, "git -c a.b=c commit", true],
  ["a hook and a command that runs none", HOOK, "git status", false],
  ["a hook that each command runs", { ".git/hooks/post-index-change": "" }, "git status", true],
  ["a filter", { ".git/config": '[filter "x"]\n\tclean = sh x\n' }, "git status", true],
  ["an included file", { ".git/config": "[include]\n\tpath = ../x\n" }, "git log", true],
  ["settings that gate cannot read", { ".git/config": "[core] pager = x\n" }, "git log", true],
  ["another program", HOOK, "ls", false],
  ["git by its path", HOOK, "/usr/bin/git commit", true],
  ["a filter of a nested repository", NESTED, "git -C sub status", true],
  ["a filter of one two folders down", NESTED, "git -C sub -C deep status", true],
  ["a filter, through a folder in it", NESTED, "git -C sub/deep status", true],
  ["a filter of a named folder of git", NESTED, "git --git-dir=sub/.git log", true],
  ["a filter, by a cd", NESTED, "cd sub && git log", true],
  ["a filter, behind a link", { ...NESTED, "link -> sub": "" }, "git -C link status", true],
  ["a filter in a folder that looks like git's", BARE, "git -C bare log", true],
  ["a filter of a nested repository that is not meant", NESTED, "git status", false],
  ["a nested repository without programs", PLAIN, "git -C sub status", false],
  ["too many words", {}, `git add ${"a ".repeat(5_000)}`, true],
  ["git's folder elsewhere", { ".git": "gitdir: other\n", "other/HEAD": "" }, "git log", false],
])("git runs programs of the project: with %s", (_, files, command, expected) => {
  const root = createTempFolder("git-programs");
  writeAll(root, files);
  const commands = command.split(" && ").map((one) => one.split(" "));
  expect(runsOwnPrograms(commands, [root])).toBe(expected);
});

function writeAll(root: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    const [name = "", to] = path.split(" -> ");
    mkdirSync(dirname(join(root, name)), { recursive: true });
    if (to === undefined) writeFileSync(join(root, name), text);
    else symlinkSync(to, join(root, name));
  }
}

const git = (root: string, ...args: string[]) =>
  execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b.test", ...args], { cwd: root });

test("git status runs the programs of a nested repository that the index names", () => {
  const root = createTempFolder("git-programs");
  writeAll(root, { "sub/a": "one\n" });
  git(join(root, "sub"), "init", "-q");
  git(join(root, "sub"), "add", "a");
  git(join(root, "sub"), "commit", "-qm", "a");
  git(root, "init", "-q");
  const status = [["git", "status"]];
  expect(runsOwnPrograms(status, [root])).toBe(false);
  git(join(root, "sub"), "config", "core.fsmonitor", `touch ${root}/ran; false`);
  expect(runsOwnPrograms(status, [root])).toBe(false);
  git(root, "add", "sub");
  rmSync(join(root, "ran"), { force: true });
  // Git really runs it.
  git(root, "status");
  expect(existsSync(join(root, "ran"))).toBe(true);
  expect(runsOwnPrograms(status, [root])).toBe(true);
});
