import { existsSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { LRUCache } from "lru-cache";
import { readGitConfig } from "./git_config.ts";
import { gitFoldersOf } from "./git_folder.ts";
import { readSmallFile } from "./small_file.ts";

/** Files and folders that git's settings name and from which git takes settings or programs. */
export interface NamedByGit {
  files: string[];
  folders: string[];
}

const MOST_BYTES = 256 * 1024;
/** Git itself follows ten. */
const MOST_DEPTH = 10;
const MOST_FILES = 30;

const CONFIGS = /^include(?:if\..*)?\.path$/;
const FOLDERS = /^(core\.hookspath|init\.templatedir)$/;
const FILES = /^core\.(attributesfile|excludesfile)$/;

/** Settings whose value git runs by itself: a program, or a command line for a shell. */
const PROGRAMS = new RegExp(
  "^(" + [
    "core\\.(fsmonitor|pager|editor|sshcommand|askpass|alternaterefscommand|gitproxy)",
    "filter\\..*\\.(clean|smudge|process)",
    "diff\\.external|diff\\..*\\.(textconv|command)|merge\\..*\\.driver",
    "pager\\..*|interactive\\.difffilter|sequence\\.editor",
    "gpg\\..*program|credential\\..*helper|trailer\\..*\\.(command|cmd)",
  ].join("|") + ")$",
);

/**
 * The files and folders in a working folder that the settings of its repository name: included configs
 * (missing ones too), the folder of hooks, and programs with a path.
 */
export function namedByRepository(root: string): NamedByGit {
  const starts = gitFoldersOf(root).flatMap((git) =>
    ["config", "config.worktree"].map((name) => join(git, name))
  );
  const configs = followConfigs(starts, homedir());
  const all = configs.flatMap((config) =>
    configEntries(config).map(([key, value]) => ({ key, value, config }))
  );
  const valuesOf = (keys: RegExp) => all.filter(({ key }) => keys.test(key));
  const inRoot = (path: string | null): path is string =>
    path !== null && path !== root && path.startsWith(`${root}/`) &&
    !path.startsWith(`${root}/.git/`);
  const files = [
    ...configs,
    ...valuesOf(PROGRAMS).flatMap(({ value }) => programsIn(value, root)),
  ];
  // Git looks for a folder of hooks in the working folder.
  const folders = valuesOf(FOLDERS).map(({ value }) => pathOf(value, root));
  return { files: firstOf(files.filter(inRoot)), folders: firstOf(folders.filter(inRoot)) };
}

/** Whether git takes settings or programs from this path, because the settings of a repository name it. */
export function isNamedByRepository(path: string, root: string): boolean {
  const { files, folders } = namedByRepository(root);
  return files.includes(path) ||
    folders.some((folder) => path === folder || path.startsWith(`${folder}/`));
}

/** These configs and those that they include. */
export function followConfigs(starts: readonly string[], home: string): string[] {
  const seen = new Set<string>();
  const open = starts.map((path) => ({ path, depth: 0 }));
  for (let one = open.shift(); one && seen.size < MOST_FILES; one = open.shift()) {
    const { path, depth } = one;
    if (seen.has(path)) continue;
    seen.add(path);
    if (depth >= MOST_DEPTH) continue;
    const named = configEntries(path).filter(([key]) => CONFIGS.test(key))
      .map(([, value]) => pathOf(value, dirname(path), home)).filter((at) => at !== null);
    open.push(...named.slice(0, MOST_FILES).map((at) => ({ path: at, depth: depth + 1 })));
  }
  return [...seen];
}

/** The folders and files, beside further configs, that a config makes git use. */
export function namedByConfig(config: string, home: string): NamedByGit {
  const of = (keys: RegExp) =>
    firstOf(
      configEntries(config).filter(([key]) => keys.test(key))
        .map(([, value]) => pathOf(value, dirname(config), home)).filter((at) => at !== null),
    );
  return { files: of(FILES), folders: of(FOLDERS) };
}

type Entries = readonly (readonly [key: string, value: string])[];

const READ = new LRUCache<string, Entries>({ max: 400 });

/** The entries of a config, read again only after a change; none of one that git would not read. */
function configEntries(path: string): Entries {
  try {
    const stats = statSync(path, { throwIfNoEntry: false, bigint: true });
    if (!stats?.isFile()) return [];
    const key = `${path} ${stats.ino} ${stats.size} ${stats.ctimeNs}`;
    const known = READ.get(key);
    if (known) return known;
    const entries = readGitConfig(readSmallFile(path, MOST_BYTES)) ?? [];
    READ.set(key, entries);
    return entries;
  } catch {
    return []; // a folder above it is a file, or git could not read it either
  }
}

/** A path as git reads it in a config: `~/` is the home, others start from the folder. */
function pathOf(value: string, folder: string, home = homedir()): string | null {
  const plain = /^"(.*)"/.exec(value)?.[1] ?? value.replace(/\s+[#;].*$/, "");
  if (plain === "" || plain.includes("\0")) return null;
  if (plain.startsWith("~/")) return join(home, plain.slice(2));
  return isAbsolute(plain) ? plain : join(folder, plain);
}

/** The words of a command line that are files of the working folder, by a path. */
function programsIn(line: string, root: string): string[] {
  return line.split(/[\s"'!;|&()]+/).filter((word) => word.includes("/"))
    .map((word) => resolve(root, word)).filter((path) =>
      path.startsWith(`${root}/`) && existsSync(path)
    );
}

function firstOf(paths: readonly string[]): string[] {
  return [...new Set(paths)].slice(0, MOST_FILES);
}
