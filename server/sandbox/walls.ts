import { lstatSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { totalmem } from "node:os";
import { dirname, join } from "node:path";
import type { SandboxEngine } from "../environment.ts";
import { GateError } from "../errors.ts";
import { gitFoldersOf } from "../runtime/git_folder.ts";
import { isNamedByRepository } from "../runtime/git_named.ts";
import { isWithin } from "./bubblewrap.ts";
import { type BlockedFiles, type Found, gitParts, keptFile, namedParts } from "./find_blocked.ts";
import { homeMounts } from "./home.ts";
import { isProtected, type Judge } from "./judge.ts";
import { whyNotOpenable } from "./openings.ts";
import { copyPlainFile, namedInTmp, privateFolders } from "./private_folders.ts";
import { linkedFromHome } from "./loaded_names.ts";
import type { Mount, Walls } from "./schema.ts";
import { macMounts } from "./seatbelt.ts";
import { systemMounts } from "./system.ts";

/** The facts from which the walls of a command follow. */
export interface WallsInput {
  engine: SandboxEngine;
  judge: Judge;
  /** The patterns of rules that block paths and start with `/` or `~/`. */
  blocked_outside: readonly string[];
  blocked: BlockedFiles;
  /** Real paths of the project's folders. */
  roots: readonly string[];
  /** The folders of other projects. */
  strangers: readonly string[];
  user_home: string;
  gate_home: string;
  session_id: string;
  command: string;
  cwd: string;
  network: Walls["network"];
  hosts: readonly string[];
  /** The port of the daemon. */
  port: number;
  /** Further folders that the policy lets commands write, absolute or below `~/`. */
  writable: readonly string[];
  /** Absolute paths of files of the home folder that a person has opened for reading. */
  readable?: readonly string[];
}

/** The walls of one command, with the files that they hide or keep. */
export interface WallsFound {
  walls: Walls;
  found: Found[];
  /** The folders in which they were found: the project's, and further ones that the command may write. */
  looked: string[];
}

/** With more of them a sandbox takes too long to build: each costs more than the one before. */
export const MAX_MOUNTS = 400;
const MEMORY_SHARE = 0.75;
/** No mount of a sandbox opens a device, and no program takes a device for a file with settings. */
const BLANK = "/dev/null";

/**
 * Computes the walls of a command from the policy and the disk. @throws UnbuildableError if they cannot
 * be built; the command must not run then
 */
export async function wallsOf(input: WallsInput): Promise<WallsFound> {
  const { roots, user_home, gate_home, session_id, engine, judge } = input;
  const cwd = realOf(input.cwd);
  if (cwd === null || !roots.some((root) => isWithin(cwd, root))) {
    throw refused(`its folder "${input.cwd}" is not in the project`, "run it in the project");
  }
  const wide = roots.find((root) => isWithin(user_home, root) || isWithin(gate_home, root));
  if (wide !== undefined) {
    throw refused(
      `the project's folder "${wide}" holds your home or gate's data`,
      "make the project a folder below it",
    );
  }
  const own = privateFolders(gate_home, session_id, user_home);
  for (const name of namedInTmp(input.command)) {
    const path = `/tmp/${name}`;
    const isOfOthers = [gate_home, user_home, ...roots, ...input.strangers]
      .some((one) => isWithin(path, one));
    if (!isOfOthers && judge(path) !== "hidden") {
      copyPlainFile(name, "/tmp", own.tmp);
    }
  }
  const places = placesOf(input);
  const further = places.open.filter((one) => !roots.some((root) => isWithin(one, root)));
  const looked = [...roots, ...outermost(further)];
  const found = await findAll(input, looked);
  const before = [
    ...systemOf(engine, judge).filter(({ at }) => at !== "/tmp"),
    { at: "/tmp", as: "writable" as const, from: own.tmp },
    ...aboveTmp([...places.tops, user_home]),
    ...homeMounts(user_home, own.cache),
  ];
  const own_mounts = projectMounts(input, places, found, before);
  if (!engine.can_mask) refuseMasks(own_mounts, roots);
  const mounts = [...before, ...own_mounts, ...openedFiles(input)];
  if (mounts.length > MAX_MOUNTS) {
    const hidden = found.filter(({ fate }) => fate === "hidden").length;
    throw refused(
      `${found.length} files and folders must be hidden or kept (${hidden} hidden), and a sandbox ` +
        `holds about ${MAX_MOUNTS}`,
      "name fewer of them in the rules, or let a person approve the command outside the sandbox",
    );
  }
  return {
    found,
    looked,
    walls: {
      engine: { name: engine.name, path: engine.path, version: engine.version },
      network: input.network,
      hosts: [...input.hosts],
      closed_ports: [input.port],
      mounts,
      tools_at: before.length,
      user_home,
      never_shown: [
        gate_home,
        ...strangersOf(input),
        ...input.blocked_outside.map((pattern) => prefixOf(pattern, user_home))
          .filter((path) => path !== user_home && path !== "/"),
      ],
      cwd,
      blank: BLANK,
      limits: {
        processes: 1_024,
        memory_bytes: Math.floor(totalmem() * MEMORY_SHARE),
        file_bytes: 8 * 1024 ** 3,
      },
    },
  };
}

/**
 * Refuses walls that hide or keep something in a folder that the command may write. What gate watches
 * itself while a command runs, git's own settings and the guarded files of the project, it restores.
 */
function refuseMasks(mounts: readonly Mount[], roots: readonly string[]): void {
  const writable = mounts.filter(({ as }) => as === "writable").map(({ at }) => at);
  const masked = mounts.find(({ at, as }) =>
    as !== "writable" && writable.some((one) => isWithin(at, one)) &&
    (as !== "read_only" || !isWatched(at, roots))
  );
  if (masked === undefined) return;
  const what = masked.as === "read_only" ? "kept as it is" : "hidden";
  throw refused(
    `${
      JSON.stringify(masked.at)
    } must be ${what}, and the sandbox of this machine can neither hide ` +
      "nor keep single files of a project",
    "install bubblewrap, or let a person approve the command",
  );
}

/** Whether gate watches the file and restores it: in git's folder, or guarded at the top of the project. */
function isWatched(path: string, roots: readonly string[]): boolean {
  if (/\/\.git\/(config|config\.worktree|commondir|hooks|info)$/.test(path)) {
    return roots.includes(path.replace(/\/\.git\/[^/]*$/, ""));
  }
  return (isProtected(path, roots) && roots.includes(dirname(path))) ||
    roots.some((root) => isNamedByRepository(path, root));
}

/** A command can run only in a sandbox that gate cannot build. */
export class UnbuildableError extends GateError {
  /** Why, in words that continue a sentence. */
  readonly why: string;

  constructor(why: string, next: string) {
    super("conflict", `Cannot run the command in the sandbox: ${why}; ${next}`, {
      fields: { is_unbuildable: true },
    });
    this.why = why;
  }
}

/** The error of a command that can run only in a sandbox which gate cannot build. */
export function refused(why: string, next: string): UnbuildableError {
  return new UnbuildableError(why, next);
}

function systemOf({ name }: SandboxEngine, judge: Judge): Mount[] {
  if (name === "seatbelt") return macMounts();
  return systemMounts({ hides_etc: judge("/etc") === "hidden" });
}

async function findAll(input: WallsInput, folders: readonly string[]): Promise<Found[]> {
  const { roots, blocked, judge, strangers } = input;
  const all: Found[] = [];
  for (const folder of folders) {
    const found = await blocked.find(folder, judge);
    if (found === null) {
      const what = roots.includes(folder) ? "the project" : "the folder";
      throw refused(
        `${what} "${folder}" has too many files to look through`,
        "let a person approve the command outside the sandbox",
      );
    }
    if (found.some(({ path }) => path === folder)) {
      throw refused(`"${folder}" cannot be read`, "let a person make it readable");
    }
    all.push(...found);
  }
  const unnamed = all.find(({ kind }) => kind === "unnamed");
  if (unnamed !== undefined) {
    throw refused(
      `the name of ${
        JSON.stringify(unnamed.path)
      } has bytes that are no text, so it cannot be hidden`,
      "let a person rename it, or approve the command outside the sandbox",
    );
  }
  const inner = strangers.filter((one) =>
    !roots.includes(one) && roots.some((root) => isWithin(one, root))
  );
  const unseen = inner.filter(isThere)
    .map((path): Found => ({ path, fate: "hidden", kind: "folder" }));
  const known = new Set(all.map(({ path }) => path));
  const linked = linkedFromHome(input.user_home, folders).filter((path) => !known.has(path))
    .flatMap((path) => keptFile(path));
  // Of a second working tree, git's own folder lies elsewhere.
  const named = roots.flatMap(namedParts).filter(({ path }) => !known.has(path));
  return [...all, ...unseen, ...linked, ...named];
}

function projectMounts(
  input: WallsInput,
  { git, tops }: Places,
  found: readonly Found[],
  before: readonly Mount[],
): Mount[] {
  const { gate_home } = input;
  const isVisible = (path: string) =>
    tops.some((top) => isWithin(path, top)) ||
    before.some(({ at, as }) => as === "read_only" && isWithin(path, at));
  const outside = strangersOf(input).filter((one) => isThere(one) && isVisible(one));
  const rest = outsideOf(input).filter(isVisible);
  const parts = new Map<string, Mount>();
  const add = (mount: Mount) => {
    // A hidden part stays hidden, whatever another finding says about it.
    if (!parts.get(mount.at)?.as.startsWith("hidden")) parts.set(mount.at, mount);
  };
  for (const { path, fate, kind } of [...found, ...git.flatMap((folder) => gitParts(folder))]) {
    for (const mount of mountsFor({ path, fate, kind }, tops)) add(mount);
  }
  for (const path of [...outside, ...rest]) add(hiddenAt(path));
  const hidden = [...parts.values()].filter(({ as }) => as.startsWith("hidden")).map(({ at }) =>
    at
  );
  const kept = [...parts.values()].filter(({ at }) =>
    !hidden.some((folder) => folder !== at && isWithin(at, folder))
  );
  return [
    ...tops.map((at): Mount => ({ at, as: "writable" })),
    ...[...pins(kept, tops), ...kept].toSorted((a, b) => depth(a.at) - depth(b.at)),
    // Elsewhere the sandbox has nothing of it.
    ...isVisible(gate_home) ? [{ at: gate_home, as: "hidden_folder" as const }] : [],
  ];
}

/** The folders of other projects that are neither in this one nor around it. */
function strangersOf({ strangers, roots }: WallsInput): string[] {
  return strangers.filter((one) =>
    !roots.some((root) => isWithin(one, root) || isWithin(root, one))
  );
}

/** A pattern up to its first wildcard, as a path. */
function prefixOf(pattern: string, user_home: string): string {
  const literal = pattern.replace(/\/[^/]*[*?[{].*$/, "").replace(/\/+$/, "");
  return literal.startsWith("~") ? user_home + literal.slice(1) : literal || "/";
}

/** The folders that the command may write. */
interface Places {
  /** Those of git that lie outside the project. */
  git: string[];
  /** Those that the policy or a person opened. */
  open: string[];
  /** The outermost ones, with the project's. */
  tops: string[];
}

function placesOf(input: WallsInput): Places {
  const git = outerGit(input.roots);
  const named = input.writable.map((path) => pathOf(path, input));
  const changed = [...input.roots, ...named.map(realOf).filter((one) => one !== null)];
  const open = named.filter((path) => !passesLink(path, changed))
    .map((path) => writablePath(path, input)).filter((one) => one !== null);
  return { git, open, tops: outermost([...input.roots, ...git, ...open]) };
}

/** The mounts about a found file: for a link, those about the file that it leads to. */
function mountsFor({ path, fate, kind }: Found, tops: readonly string[]): Mount[] {
  if (kind !== "link") {
    if (fate === "read_only") return [{ at: path, as: "read_only" }];
    return [{ at: path, as: kind === "folder" ? "hidden_folder" : "hidden_file" }];
  }
  const target = realOf(path);
  if (target === null || tops.some((top) => isWithin(top, target))) return [];
  if (fate === "hidden") return isContent(target) ? [hiddenAt(target)] : [];
  // Elsewhere it is read-only anyway, and what is hidden there stays hidden.
  return tops.some((top) => isWithin(target, top)) ? [{ at: target, as: "read_only" }] : [];
}

/** Whether it can hold a secret; `/dev/null`, to which such links lead too, cannot. */
function isContent(path: string): boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  return (stats?.isFile() || stats?.isDirectory()) === true && !/^\/(proc|sys)\//.test(path);
}

function hiddenAt(at: string): Mount {
  const isFolder = statSync(at, { throwIfNoEntry: false })?.isDirectory() ?? true;
  return { at, as: isFolder ? "hidden_folder" : "hidden_file" };
}

/**
 * The folders around the kept files. As mounts of their own they cannot be renamed or replaced, so a
 * command cannot move a hidden file to another path while the next sandbox is built.
 */
function pins(kept: readonly Mount[], tops: readonly string[]): Mount[] {
  const known = new Set([...tops, ...kept.map(({ at }) => at)]);
  const pinned = new Map<string, Mount>();
  for (const { at } of kept) {
    for (let folder = dirname(at); !known.has(folder) && dirname(folder) !== folder;) {
      if (!tops.some((top) => isWithin(folder, top))) break;
      if (!pinned.has(folder)) pinned.set(folder, { at: folder, as: "writable" });
      folder = dirname(folder);
    }
  }
  const readOnly = kept.filter(({ as }) => as === "read_only");
  return [...pinned.values()].filter(({ at }) => !readOnly.some((one) => isWithin(at, one.at)));
}

/** Folders of `/tmp` around these: mounts, so that no command replaces them by a link. */
function aboveTmp(tops: readonly string[]): Mount[] {
  const firsts = tops.flatMap((top) => {
    const first = /^(?:\/var)?\/tmp\/[^/]+/.exec(top)?.[0];
    return first !== undefined && first !== top ? [first] : [];
  });
  return [...new Set(firsts)].map((at) => ({ at, as: "new_folder" as const }));
}

/** The folders of git that lie outside the project, as for a second working tree. */
export function outerGit(roots: readonly string[]): string[] {
  return roots.flatMap((root) => gitFoldersOf(root)).map(realOf).filter((path) => path !== null)
    .filter((path) => !roots.some((root) => isWithin(path, root)));
}

function pathOf(path: string, { user_home }: WallsInput): string {
  return path.startsWith("~/") ? join(user_home, path.slice(2)) : path;
}

const MOST_LINKS = 40;

/**
 * Whether a path leads through a link that lies in one of these folders: a command may have put it
 * there, to a place that nobody opened.
 */
function passesLink(path: string, folders: readonly string[]): boolean {
  let at = "/";
  const names = namesOf(path);
  for (let links = 0; names.length > 0;) {
    const next = join(at, names.shift()!);
    if (lstatSync(next, { throwIfNoEntry: false })?.isSymbolicLink() !== true) {
      at = next;
      continue;
    }
    if (++links > MOST_LINKS || folders.some((one) => isWithin(next, one))) return true;
    const target = readlinkSync(next);
    if (target.startsWith("/")) at = "/";
    names.unshift(...namesOf(target));
  }
  return false;
}

function namesOf(path: string): string[] {
  return path.split("/").filter((name) => name !== "");
}

function writablePath(full: string, { user_home, gate_home, judge }: WallsInput): string | null {
  const real = full.startsWith("/") ? realOf(full) : null;
  if (real === null || judge(real) === "hidden") return null;
  const isTooWide = [user_home, gate_home].some((one) => isWithin(one, real)) ||
    isWithin(real, gate_home);
  return isTooWide ? null : real;
}

/** The opened files. The rules may have changed since a person opened them. */
function openedFiles({ readable = [], ...input }: WallsInput): Mount[] {
  const { engine, judge, roots, strangers: projects, user_home, gate_home } = input;
  const policy = { network: input.network, hosts: input.hosts };
  return readable.filter((path) =>
    whyNotOpenable({ kind: "readable", path }, {
      ...{ engine: engine.name, judge, policy, roots, projects, user_home, gate_home },
    }) === null
  ).map((at) => ({ at, as: "read_only" }));
}

/** The existing paths of absolute patterns up to their first wildcard, if the rules hide them whole. */
function outsideOf({ blocked_outside, user_home, judge }: WallsInput): string[] {
  return blocked_outside.map((pattern) => prefixOf(pattern, user_home))
    .filter((path) =>
      path !== "/" && path !== user_home && path !== "/etc" && isThere(path) &&
      judge(path) === "hidden"
    )
    .map(realOf).filter((path) => path !== null);
}

function outermost(paths: readonly string[]): string[] {
  const all = [...new Set(paths)];
  return all.filter((path) => !all.some((one) => one !== path && isWithin(path, one)));
}

function depth(path: string): number {
  return path.split("/").length;
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function realOf(path: string): string | null {
  try {
    return realpathSync.native(path);
  } catch {
    return null;
  }
}
