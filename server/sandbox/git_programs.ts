import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { readGitConfig } from "../runtime/git_config.ts";
import { gitFoldersOf } from "../runtime/git_folder.ts";
import { readSmallFile } from "../runtime/small_file.ts";

/**
 * Whether git may run a program that the repositories of these folders name: a hook, a filter, or what
 * an included file says. Sandboxed commands can change such a program, or what it runs in turn. Counts
 * as true if git's settings cannot be read.
 */
export function runsOwnPrograms(
  commands: readonly (readonly string[])[],
  folders: readonly string[],
): boolean {
  const calls = commands.filter((argv) => argv.some((word) => basename(word) === "git"));
  if (calls.length === 0) return false;
  return folders.flatMap(gitFoldersOf).some((folder) => {
    const hooks = hooksIn(join(folder, "hooks"));
    const onlyReads = calls.every((argv) =>
      READS.has(argv[argv.findIndex((word) => basename(word) === "git") + 1] ?? "")
    );
    if (hooks.includes("post-index-change") || (hooks.length > 0 && !onlyReads)) return true;
    return ["config", "config.worktree"].some((name) => namesPrograms(join(folder, name)));
  });
}

/** Commands of git that run no hook but one. */
const READS = new Set([
  "status",
  "diff",
  "log",
  "show",
  "blame",
  "ls-files",
  "rev-parse",
  "branch",
]);

function hooksIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => !name.endsWith(".sample"));
  } catch {
    return []; // there are none
  }
}

const MOST_BYTES = 256 * 1024;
const PROGRAMS =
  /^(include\.path|includeif\..*|core\.(hookspath|fsmonitor|pager|editor|sshcommand|askpass|alternaterefscommand|gitproxy|attributesfile)|filter\..*|diff\.external|diff\..*\.(textconv|command)|merge\..*\.driver|alias\..*|pager\..*|gpg\..*|interactive\.difffilter|sequence\.editor|trailer\..*|uploadpack\..*)$/i;

function namesPrograms(file: string): boolean {
  try {
    const entries = readGitConfig(readSmallFile(file, MOST_BYTES));
    return entries === null || entries.some(([key]) => PROGRAMS.test(key));
  } catch (error) {
    return !["ENOENT", "ENOTDIR"].includes((error as { code?: string }).code ?? "");
  }
}
