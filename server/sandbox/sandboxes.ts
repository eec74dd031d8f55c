import { lstatSync, readlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import type { SandboxEngine } from "../environment.ts";
import { createGrowingCache } from "../growing_cache.ts";
import { networkIn } from "../policy/sandbox.ts";
import type { CompiledPolicy, Surroundings } from "../policy/evaluate.ts";
import type { OpenedWalls, Sandbox } from "../policy/schema.ts";
import { isWithin } from "./bubblewrap.ts";
import { BlockedFiles, type Found, partsBeside } from "./find_blocked.ts";
import { type GitState, gitStateOf, type Planted, plantedIn } from "./git_state.ts";
import { type Judge, judgeOf } from "./judge.ts";
import { KeptLanes } from "./kept_lanes.ts";
import { Lanes } from "./lanes.ts";
import { firstsInTmp, liesInTmp, removePrivateFolders } from "./private_folders.ts";
import { whyNotOpenable } from "./openings.ts";
import { isOfOwnTree } from "./own_worktrees.ts";
import { copyProject, type ProjectCopy, removeCopy, whyNotCopied } from "./review/copy_project.ts";
import { onCopy } from "./review/on_copy.ts";
import { type Before, RunningCommands } from "./running.ts";
import type { OpenWall, Walls } from "./schema.ts";
import { searchedPrograms, shadowsSince } from "./shadows.ts";
import {
  MAX_MOUNTS,
  outerGit,
  refused,
  UnbuildableError,
  type WallsFound,
  wallsOf,
} from "./walls.ts";

/** A command that is to run in the sandbox. */
export interface SandboxOrder {
  session_id: string;
  command: string;
  cwd: string;
  /** The sandbox of the decision. */
  sandbox: Sandbox;
  /** Walls that people opened for it. */
  opened: OpenedWalls;
  compiled: CompiledPolicy;
  around: Surroundings;
  /** The folders of all projects. */
  projects: readonly string[];
  /** The values of PATH with which programs are found outside the sandbox. */
  search_paths?: readonly string[];
}

/** The copy in which a command works, and when it started, in nanoseconds since 1970. */
export interface StartedCopy {
  copy: ProjectCopy;
  started_ns: bigint;
}

/** The walls of a command, and the copy of the project if its changes are held back. */
export interface BuiltWalls {
  walls: Walls;
  copy: ProjectCopy | null;
}

const NS_OF_A_MS = 1_000_000n;
/** After walls could be built, the next commands are not tried on them for this time. */
const TRIED_MS = 60_000;
const MAX_TRIED = 1_000;

/** Builds the walls of commands, and finds what appeared behind them. */
export class Sandboxes {
  /** Which commands run in a sandbox and which run beside it. */
  readonly lanes: Lanes;
  readonly #gate_home: string;
  readonly #engine: () => Promise<SandboxEngine | null>;
  readonly #blocked: BlockedFiles;
  readonly #judges = new WeakMap<CompiledPolicy, { key: string; judge: Judge }>();
  readonly #now: () => number;
  readonly #running: RunningCommands;
  readonly #copies = new Map<string, StartedCopy>();
  readonly #tried = createGrowingCache<CompiledPolicy>(MAX_TRIED, TRIED_MS);

  /**
   * Removes what earlier sandboxes left in the data folder. Commands of an earlier daemon that may still
   * run keep their side.
   */
  constructor(
    gate_home: string,
    engine: () => Promise<SandboxEngine | null>,
    now: () => number,
    blocked = new BlockedFiles(),
  ) {
    this.#blocked = blocked;
    this.#gate_home = gate_home;
    this.#engine = engine;
    this.#now = now;
    this.#running = new RunningCommands(gate_home, now);
    this.lanes = new Lanes(new KeptLanes(gate_home, now));
    const running = [...this.#running.all()];
    for (const [action_id, { folders, writes_elsewhere, started_at, at_most_ms }] of running) {
      const rest = started_at + at_most_ms - now();
      if (rest <= 0) continue;
      this.lanes.resume({ action_id, folders, writes_elsewhere, at_most_ms: rest });
    }
    removePrivateFolders(gate_home, new Set(running.map(([, { session_id }]) => session_id)));
  }

  /**
   * The walls of a command that starts now. If its changes are held back, it works in a new copy of the
   * project: pass that to `startCopy` or `removeCopy`. @throws UnbuildableError if they cannot be built
   */
  async build(order: SandboxOrder & { action_id: string }): Promise<BuiltWalls> {
    const { around, action_id, sandbox, session_id } = order;
    const { walls, found, looked } = await this.#wallsOf(order).catch((error) => {
      // The next submission is judged by the disk as it is now, so a person is asked then.
      this.#tried.clear();
      throw error;
    });
    const { roots } = around;
    const before = (folders: readonly string[]): Before => ({
      ...{ session_id, folders, started_at: this.#now(), at_most_ms: longestRun(order.compiled) },
      writes_elsewhere: looked.some((one) => !roots.includes(one)),
      paths: new Set(found.map(({ path }) => path)),
      whole: wholeIn(found),
      git: this.#gitStates(folders),
      links: linksIn(found),
      programs: searchedPrograms(order.search_paths ?? [], folders),
    });
    if (!sandbox.held_back) {
      this.#running.start(action_id, before(looked));
      return { walls, copy: null };
    }
    const name = `${action_id}.${crypto.randomUUID().slice(0, 8)}`;
    const folder = join(this.#gate_home, "sandbox", session_id, "copies", name);
    const copy = await copyProject({ folder, roots, kept: keptIn(found) });
    // Blocked files in the copy are left out anyway.
    this.#running.start(action_id, before(looked.filter((one) => !roots.includes(one))));
    const mounts = onCopy(walls.mounts, copy, outerGit(roots));
    return { walls: { ...walls, mounts }, copy };
  }

  /** Keeps the copy of a command that starts now. */
  startCopy(action_id: string, copy: ProjectCopy): void {
    // The time of the files, whatever clock the gate has.
    this.#copies.set(action_id, { copy, started_ns: BigInt(Date.now()) * NS_OF_A_MS });
  }

  /** The copy of a command that has ended, once; the caller removes it. Null if there is none. */
  takeCopy(action_id: string): StartedCopy | null {
    const started = this.#copies.get(action_id) ?? null;
    this.#copies.delete(action_id);
    return started;
  }

  /** Removes the copy of a command of which nobody tells the end. */
  async dropCopy(action_id: string): Promise<void> {
    const started = this.takeCopy(action_id);
    if (started) await removeCopy(started.copy);
  }

  /**
   * Why the walls of a command cannot be built at present; null if they can, or could a moment ago with
   * far fewer mounts than the bound. A command starts only behind walls that are built for it anew.
   */
  async whyNot(order: SandboxOrder): Promise<string | null> {
    const { session_id, cwd, sandbox, opened, compiled, around, projects } = order;
    const { roots, user_home } = around;
    const key = JSON.stringify([session_id, cwd, sandbox, opened, projects, roots, user_home]);
    if (this.#tried.get(key) === compiled && await this.#engine() !== null) return null;
    try {
      // Without its text, nothing is copied for it.
      const { walls, found } = await this.#wallsOf({ ...order, command: "" });
      if (sandbox.held_back) return await whyNotCopied({ roots, kept: keptIn(found) });
      // Without masks, each new file may be one that must be hidden.
      const keeps = (await this.#engine())?.can_mask === true;
      if (keeps && walls.mounts.length <= MAX_MOUNTS / 2) this.#tried.set(key, compiled);
      return null;
    } catch (error) {
      if (error instanceof UnbuildableError) return error.why;
      return error instanceof Error ? error.message : String(error);
    }
  }

  async #wallsOf(order: SandboxOrder): Promise<WallsFound & { judge: Judge }> {
    const { compiled, around, sandbox, opened, projects } = order;
    const engine = await this.#engine();
    if (engine === null) {
      throw refused(
        "this machine has no sandbox engine any more",
        "run gate doctor, then let the agent submit it again",
      );
    }
    if (sandbox.held_back && engine.name !== "bubblewrap") {
      throw refused(
        "the sandbox of this machine cannot put a copy into the place of the project",
        "install bubblewrap, or let a person approve the command",
      );
    }
    const judge = this.#judgeOf(compiled, around);
    const hosts = [...compiled.sandbox.hosts, ...opened.hosts];
    const built = await wallsOf({
      ...{ engine, judge, gate_home: this.#gate_home, blocked: this.#blocked },
      session_id: order.session_id,
      command: order.command,
      cwd: order.cwd,
      roots: around.roots,
      strangers: projects,
      user_home: around.user_home,
      network: sandbox.network,
      hosts: networkIn({ ...compiled.sandbox, hosts }, engine.name).hosts,
      port: around.port,
      writable: [...sandbox.writable, ...opened.writable],
      readable: opened.readable,
      blocked_outside: anchoredPatterns(compiled),
    });
    const movable = this.#movable(built);
    if (movable !== null) {
      throw refused(
        `a command that still runs can move "${movable}" while the sandbox is built, and a file in ` +
          "it must be hidden or kept",
        "wait until that command has ended",
      );
    }
    return { ...built, judge };
  }

  /**
   * A folder around a hidden or kept file that a running command can move, because its own sandbox was
   * built before the file was there. A link in the place of the folder would lead a mount elsewhere.
   */
  #movable({ found, looked }: WallsFound): string | null {
    const around = new Set(
      found.filter(({ kind }) => kind !== "link").flatMap(({ path }) =>
        foldersAround(path).filter((folder) =>
          looked.some((top) => folder !== top && isWithin(folder, top))
        )
      ),
    );
    if (around.size === 0) return null;
    for (const [action_id, { folders, paths, links, whole }] of this.#running.all()) {
      if (!this.lanes.holds(action_id)) continue;
      const fixed = new Set([...paths].filter((path) => !links.has(path)).flatMap(foldersAround));
      const movable = [...around].find((folder) =>
        folders.some((top) => isWithin(folder, top)) && !fixed.has(folder) &&
        !whole.some((one) => isWithin(folder, one))
      );
      if (movable !== undefined) return movable;
    }
    return null;
  }

  /**
   * The blocked and kept files that appeared since the command of this action started, outermost first,
   * what else it planted in folders of git, programs that take the place of the machine's, and folders
   * that nobody can look through any more. The rules are those in force now. No folder is among them
   * that held such a file at the start, or that is kept in place of its parts.
   */
  async appeared(
    action_id: string,
    { compiled, around }: Pick<SandboxOrder, "compiled" | "around">,
  ): Promise<Planted[]> {
    const before = this.#running.find(action_id);
    if (!before) return [];
    const judge = this.#judgeOf(compiled, around);
    const all = await Promise.all(
      before.folders.map((folder) => this.#blocked.findAfter(folder, judge, before.paths)),
    );
    const unseen = before.folders.filter((_, at) => !all[at]!.is_all)
      .map((path): Planted => ({ path, instead: null, kind: "unseen" }));
    const foldersBefore = new Set([...before.paths].flatMap(foldersAround));
    const found = all.flatMap((one) => one.found);
    const unnamed = new Set(found.filter(({ kind }) => kind === "unnamed").map(({ path }) => path));
    const wholeNow = wholeIn(found);
    const few = [...before.paths].filter((path) => wholeNow.some((one) => isWithin(path, one)));
    const paths = [...found.filter(({ is_whole }) => !is_whole), ...partsBeside(few)]
      .map(({ path }) => path)
      .filter((path) => !before.paths.has(path) && !foldersBefore.has(path))
      .filter((path) => !before.whole.some((one) => isWithin(path, one)))
      .filter((path) => !isOfOwnTree(path, [...before.git.keys()]));
    const shadows = shadowsSince(before.programs, before.folders);
    const appeared = [...new Set([...paths, ...shadows])]
      .map((path): Planted => ({
        ...{ path, instead: null },
        ...unnamed.has(path) && { kind: "unnamed" as const },
      }));
    const planted = this.#gitFolders(before.folders)
      .flatMap((folder) => plantedIn(folder, before.git.get(folder)));
    const replaced = [...before.links].filter(([path, link]) => isReplaced(path, link))
      .map(([path, link]): Planted => ({ path, instead: { link } }));
    return [...appeared, ...planted, ...replaced, ...unseen]
      .toSorted((a, b) => a.path.length - b.path.length);
  }

  #gitStates(folders: readonly string[]): Map<string, GitState> {
    return new Map(this.#gitFolders(folders).map((folder) => [folder, gitStateOf(folder)]));
  }

  /** The folders of git in these folders, and those of them that lie elsewhere. */
  #gitFolders(folders: readonly string[]): string[] {
    const inside = folders.flatMap((folder) => this.#blocked.gitFolders(folder));
    return [...new Set([...inside, ...outerGit(folders)])];
  }

  /** Why a person cannot open this wall in the project of these rules; null if they can. */
  whyNotOpenable(
    wall: OpenWall,
    { compiled, around, projects }: Pick<SandboxOrder, "compiled" | "around" | "projects">,
  ): string | null {
    const { roots, user_home } = around;
    const judge = this.#judgeOf(compiled, around);
    const gate_home = this.#gate_home;
    const policy = compiled.sandbox;
    const engine = around.sandbox?.engine ?? "none";
    return whyNotOpenable(wall, { engine, judge, policy, roots, projects, user_home, gate_home });
  }

  /**
   * The programs that commands in the sandbox of a project with these folders, which still run, put in
   * the place of the machine's, by the ids of their actions.
   */
  shadows(roots: readonly string[]): Map<string, Planted[]> {
    const here = [...this.#running.all()].filter(([, { folders }]) =>
      folders.some((folder) => roots.includes(folder))
    );
    return new Map(here.map(([id, { programs, folders }]) => [
      id,
      shadowsSince(programs, folders).map((path) => ({ path, instead: null })),
    ]));
  }

  /** Whether a command names files that lie in its session's own `/tmp`, which only the sandbox shows. */
  async namesOwnFiles(session_id: string, command: string): Promise<boolean> {
    const names = firstsInTmp(command);
    return names.length > 0 && (await this.#engine())?.name === "bubblewrap" &&
      liesInTmp(this.#gate_home, session_id, names);
  }

  /** Whether this command runs in the sandbox, or did and its end was not looked at. */
  knows(action_id: string): boolean {
    return this.#running.find(action_id) !== null;
  }

  /** Keeps a command whose outcome is recorded, although it may go on. */
  goOn(action_id: string): void {
    const before = this.#running.find(action_id);
    if (before) this.#running.start(action_id, { ...before, goes_on: true });
  }

  /** The actions of the commands that may go on, of all projects. */
  goingOn(): string[] {
    return [...this.#running.all()].filter(([, { goes_on }]) => goes_on === true)
      .map(([id]) => id);
  }

  /** Forgets a command that has ended. */
  end(action_id: string): void {
    this.#running.end(action_id);
  }

  #judgeOf(compiled: CompiledPolicy, around: Surroundings): Judge {
    const key = JSON.stringify([around.roots, around.user_home]);
    const known = this.#judges.get(compiled);
    if (known?.key === key) return known.judge;
    const judge = judgeOf(compiled, around);
    this.#judges.set(compiled, { key, judge });
    return judge;
  }
}

/** An outcome that nobody reports counts as unknown after this time. */
const UNREPORTED_MS = 60_000;

/** The milliseconds after which a command has ended, whether it is reported or not. */
export function longestRun({ limits }: CompiledPolicy): number {
  return limits.commandTimeoutSeconds * 1000 + UNREPORTED_MS;
}

function wholeIn(found: readonly Found[]): string[] {
  return found.filter(({ is_whole }) => is_whole).map(({ path }) => path);
}

function linksIn(found: readonly Found[]): Map<string, string> {
  const links = found.filter(({ kind }) => kind === "link").flatMap(({ path }) => {
    const target = targetOf(path);
    return target === null ? [] : [[path, target] as const];
  });
  return new Map(links);
}

/** Whether something else is there now. A link that is gone leads nowhere. */
function isReplaced(path: string, link: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined && targetOf(path) !== link;
}

function targetOf(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null; // it is no link
  }
}

function foldersAround(path: string): string[] {
  const folders: string[] = [];
  for (let at = dirname(path); dirname(at) !== at; at = dirname(at)) folders.push(at);
  return folders;
}

/** The paths that the sandbox covers with something else. A link itself stays visible. */
function keptIn(found: WallsFound["found"]): Set<string> {
  return new Set(found.filter(({ kind }) => kind !== "link").map(({ path }) => path));
}

function anchoredPatterns({ rules }: CompiledPolicy): string[] {
  return rules.filter(({ list, pattern }) => list === "blockedPaths" && /^~?\//.test(pattern))
    .map(({ pattern }) => pattern);
}
