import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { runsOwnPrograms } from "../../../server/sandbox/git_programs.ts";
import { createTempFolder } from "../../temp_folder.ts";

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
  ["git's folder elsewhere", { ".git": "gitdir: other\n", "other/HEAD": "" }, "git log", false],
])("git runs programs of the project: with %s", (_, files, command, expected) => {
  const root = createTempFolder("git-programs");
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  expect(runsOwnPrograms([command.split(" ")], [root])).toBe(expected);
});
