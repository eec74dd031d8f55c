import { lstatSync, realpathSync, statSync } from "node:fs";
import { LRUCache } from "lru-cache";
import { basename, dirname, join } from "node:path";
import { createGrowingCache } from "../../growing_cache.ts";
import { HOOKED_HOSTS, HOSTS } from "../../hosts/hosts.ts";
import { expandBraces } from "../../policy/glob.ts";
import { isProtectedName } from "../../policy/protect.ts";
import { gitFoldersOf, type Modules, modulesOf } from "../../runtime/git_folder.ts";
import { installedPlugins } from "./plugins.ts";
import { namedByRepository } from "../../runtime/git_named.ts";
import { namesIn } from "./folder_names.ts";
import type { Place } from "./snapshot.ts";
import { userGitPlaces } from "./user_git.ts";

/** Files that hosts, editors and git write by themselves below guarded folders. */
const LIVELY =
  /^(workspace\.xml|shelf|usage\.statistics\.xml|tasks\.xml|worktrees|todos|plans|shell-snapshots|statsig|sessions|history\.jsonl|logs?|cache|projects|file-history|debug|tmp|session-env|ide|state|.*\.sample|\.gate-[0-9a-f-]+)$/;

/** The guarded files directly in a folder of a project. */
export function placesIn(folder: string): Place[] {
  const names = namesIn(folder).filter((name) => name !== ".git" && isGuarded(name));
  return [
    { path: join(folder, ".git"), deep: false },
    ...gitFoldersOf(folder).flatMap(gitPlaces),
    ...namedPlaces(folder),
    // Listed by name, so that their appearance is noticed.
    ...new Set([...names, ...ALWAYS]),
  ].map((one) => typeof one === "string" ? place(join(folder, one)) : one);
}

const ALWAYS = [
  "gate.config.json",
  ".mcp.json",
  ".husky",
  ".vscode",
  ".envrc",
  ".gitmodules",
  ".github/hooks",
];

const KNOWN = createGrowingCache<boolean>(5_000);

function isGuarded(name: string): boolean {
  const known = KNOWN.get(name);
  if (known !== undefined) return known;
  const guarded = isProtectedName(name);
  KNOWN.set(name, guarded);
  return guarded;
}

function place(path: string): Place {
  return { path, deep: true, skip: LIVELY };
}

/** The files and folders of a project that git's settings name. */
function namedPlaces(folder: string): Place[] {
  const { files, folders } = namedByRepository(folder);
  return [
    ...files.map((path) => ({ path, deep: false })),
    ...folders.map((path) => ({ path, deep: true, skip: LIVELY })),
  ];
}

/** The files in git's folder that make git run a program. */
function gitPlaces(git: string): Place[] {
  const files = ["config", "config.worktree", "commondir", "info/attributes"];
  return [
    ...files.map((name) => ({ path: join(git, name), deep: false })),
    { path: join(git, "hooks"), deep: true, skip: LIVELY },
    ...guardedModules(git).flatMap((module) => [
      { path: join(module, "config"), deep: false },
      { path: join(module, "hooks"), deep: true, skip: LIVELY },
    ]),
    ...namesIn(join(git, "worktrees")).slice(0, 20).map((name) => (
      { path: join(git, "worktrees", name, "config.worktree"), deep: false }
    )),
  ];
}

const MODULES = createGrowingCache<Modules>(1_000);

/** Beyond this number, only those submodules are compared that were found before. */
const MOST_BELOW_MODULES = 20_000;

/**
 * The folders of submodules that are guarded. With too many, they stay those that were known: another
 * choice would have files that nobody made now. While all were known, each further one is new.
 */
function guardedModules(git: string): string[] {
  const known = MODULES.get(git);
  if (known?.is_all === false) return known.folders;
  const now = modulesOf(git, MOST_BELOW_MODULES);
  const guarded = known !== undefined && !now.is_all
    ? { ...now, folders: [...new Set([...known.folders, ...now.folders])] }
    : now;
  MODULES.set(git, guarded);
  return guarded.folders;
}

/** The guarded files of a project that the command does not work in. */
export function placesOfStranger(root: string): Place[] {
  return [
    { path: join(root, "gate.config.json"), deep: false },
    { path: join(root, ".git"), deep: false },
    ...gitFoldersOf(root).flatMap((git) => [
      { path: join(git, "config"), deep: false },
      { path: join(git, "hooks"), deep: true, skip: LIVELY },
    ]),
  ];
}

const MAX_FOLDERS = 8;

/** The folder of a command and those above it, up to the root of its project. */
export function foldersUpTo(root: string, cwd: string, home: string): string[] {
  const folders: string[] = [];
  for (let at = cwd; folders.length < MAX_FOLDERS; at = dirname(at)) {
    if (at !== home && dirname(at) !== at) folders.push(at);
    if (at === root || at === home || dirname(at) === at) break;
  }
  return folders;
}

/** Codex writes its own skills at each start. */
const OF_CODEX = /^\.system$/;

/** The names that hosts load, by the folder in the user's home that holds them. */
const LOADED = new Map<string, Set<string>>();
for (const path of HOSTS.flatMap(({ loads }) => loads).flatMap(expandBraces)) {
  const folder = dirname(path.slice(2));
  LOADED.set(folder, (LOADED.get(folder) ?? new Set()).add(basename(path)));
}

/** The files that hosts load from the user's home, through links too. */
function loadedPlaces(home: string): Place[] {
  return [...LOADED].flatMap(([folder, names]) => {
    const at = join(home, folder);
    // One look at the folder is cheaper than one at each name.
    if (!statSync(at, { throwIfNoEntry: false })) return [];
    return namesIn(at).filter((name) => names.has(name)).flatMap((name) =>
      withTarget({ path: join(at, name), deep: true, skip: OF_CODEX })
    );
  });
}

/** The place, and the file or folder behind it if it is a link. */
function withTarget(place: Place): Place[] {
  const { path } = place;
  if (!lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) return [place];
  try {
    return [place, { ...place, path: realpathSync(path) }];
  } catch {
    return [place]; // it leads nowhere
  }
}

/**
 * The files that hosts and the system load from the user's home, relative to it. Made once, because
 * gate looks at them around every command.
 */
const OF_USER = [
  ...new Set([
    ...HOOKED_HOSTS.flatMap(({ hooks }) => hooks.settings.guarded_paths).flatMap(expandBraces),
    ...HOSTS.flatMap(({ mcp }) => mcp.user_files.map(({ path }) => withDefault(path))),
    "~/.config/systemd/user",
    "~/Library/LaunchAgents",
  ]),
].filter((path) => path.startsWith("~/")).map((path) => path.slice(2));

/** The places of the user without a `*`, by home. */
const FIXED = new LRUCache<string, Place[]>({ max: 10 });

function fixedPlaces(home: string): Place[] {
  const known = FIXED.get(home);
  if (known) return known;
  const places = OF_USER.filter((path) => !path.includes("*"))
    .map((path) => ({ path: join(home, path), deep: true }));
  FIXED.set(home, places);
  return places;
}

const PATTERNS = OF_USER.filter((path) => path.includes("*"));

/** The guarded files of the user: hosts' settings and code, git's config, what starts at login. */
export function placesOfUser(home: string): Place[] {
  return [
    ...fixedPlaces(home),
    ...PATTERNS.flatMap((path) => expand(join(home, path))).map((path) => ({ path, deep: true })),
    ...loadedPlaces(home),
    ...installedPlugins(home),
    ...userGitPlaces(home).flatMap(withTarget),
  ];
}

/** The path with the default of the variable that it starts with. */
function withDefault(path: string): string {
  return path.replace(/^\{\w+\|([^}]*)\}/, "$1");
}

/** The existing names for a `*` in the last name of the path. */
function expand(path: string): string[] {
  const folder = dirname(path);
  if (folder.includes("*")) return [];
  const [start = "", end = ""] = path.slice(folder.length + 1).split("*");
  return namesIn(folder).filter((name) => name.startsWith(start) && name.endsWith(end))
    .map((name) => join(folder, name));
}

/** The gate's own files that only a person or the daemon changes. */
export function placesOfGate(gate_home: string): Place[] {
  return [
    ...["config.json", "team.json", "trust.json"].map((name) => ({
      path: join(gate_home, name),
      deep: false,
    })),
    ...["tokens", "keys"].map((name) => ({ path: join(gate_home, name), deep: true })),
  ];
}
