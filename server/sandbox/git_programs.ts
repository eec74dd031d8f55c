import { existsSync, readdirSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { readGitConfig } from "../runtime/git_config.ts";
import { gitFoldersOf, isGitFolder, withShared } from "../runtime/git_folder.ts";
import { readSmallFile } from "../runtime/small_file.ts";
import { openRepositories } from "../runtime/tracked_files.ts";

/**
 * Whether git may run a program that the repositories of these folders name, or those of the folders
 * that the commands name, or a submodule: a hook, a filter, or what an included file says. Sandboxed
 * commands can change such a program, or what it runs in turn. Counts as true if git's settings cannot
 * be read.
 */
export function runsOwnPrograms(
  commands: readonly (readonly string[])[],
  folders: readonly string[],
): boolean {
  const calls = commands.filter((argv) => argv.some((word) => basename(word) === "git"));
  if (calls.length === 0) return false;
  const worked = foldersNamed(commands, folders);
  const all = worked && gitFoldersFrom(worked);
  if (all === null) return true;
  return all.some((folder) => {
    const hooks = hooksIn(join(folder, "hooks"));
    const onlyReads = calls.every((argv) =>
      READS.has(argv[argv.findIndex((word) => basename(word) === "git") + 1] ?? "")
    );
    if (hooks.includes("post-index-change") || (hooks.length > 0 && !onlyReads)) return true;
    return ["config", "config.worktree"].some((name) => namesPrograms(join(folder, name)));
  });
}

const MOST_LOOKS = 4_000;
const MOST_FOLDERS = 64;

/**
 * The folders in which the commands may work: these, and each one that a word names from one of them,
 * as in `git -C sub`, `--git-dir=sub/.git` and `cd sub`. Null for too many.
 */
function foldersNamed(
  commands: readonly (readonly string[])[],
  folders: readonly string[],
): string[] | null {
  const found = new Set(folders);
  const words = commands.flat().flatMap((word) => {
    const at = word.indexOf("=");
    return at < 0 ? [word] : [word, word.slice(at + 1)];
  });
  let looks = 0;
  for (const word of words) {
    for (const folder of [...found]) {
      if (++looks > MOST_LOOKS) return null;
      const real = realFolder(resolve(folder, word.replace(/^~(?=\/|$)/, homedir())));
      if (real !== null) found.add(real);
      if (found.size > MOST_FOLDERS) return null;
    }
  }
  return [...found];
}

/** The folders from which git takes settings in these folders and in their submodules; null for too many. */
function gitFoldersFrom(folders: readonly string[]): string[] | null {
  const { repository } = openRepositories();
  const all = new Set<string>();
  const queue = [...folders];
  const seen = new Set(queue);
  for (const folder of queue) {
    for (const one of gitFoldersAround(folder)) all.add(one);
    const { root, modules, files } = repository(folder) ?? {};
    if (root === undefined || seen.has(`top of ${root}`)) continue;
    seen.add(`top of ${root}`);
    if (files === null && existsSync(join(root, ".gitmodules"))) return null;
    for (const module of modules ?? []) {
      const below = join(root, module);
      if (!seen.has(below)) queue.push(below);
      seen.add(below);
      if (queue.length > MOST_LOOKS) return null;
    }
  }
  return [...all];
}

/** As git looks for its settings: in the folder and above it, up to the first repository. */
function gitFoldersAround(folder: string): string[] {
  const found: string[] = [];
  for (let at = folder;; at = dirname(at)) {
    const own = [...gitFoldersOf(at), ...isGitFolder(at) ? withShared(at) : []];
    found.push(...own);
    if (own.some(isGitFolder) || dirname(at) === at) return found;
  }
}

function realFolder(path: string): string | null {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() ? realpathSync(path) : null;
  } catch {
    return null;
  }
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
