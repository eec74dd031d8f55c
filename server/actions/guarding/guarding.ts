import { mkdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { LRUCache } from "lru-cache";
import { sha256 } from "../../db/chain.ts";
import type { Environment } from "../../environment.ts";
import { writeWhole } from "../../runtime/small_file.ts";
import { isPermitted, type Permits } from "./permits.ts";
import { foldersUpTo, placesIn, placesOfGate, placesOfStranger, placesOfUser } from "./places.ts";
import { restore, type Restored } from "./restore.ts";
import {
  compare,
  type Difference,
  type Kept,
  type Place,
  type Snapshot,
  takeSnapshot,
} from "./snapshot.ts";

/** An action that runs while gate watches the guarded files. */
export interface Watched {
  action_id: string;
  root: string;
  cwd: string;
  permits: Permits;
  /** The scripts that the action runs, by real path. */
  scripts: readonly string[];
  /** Called with what was undone while the action ran, and with the other actions that ran then. */
  report: (restored: Restored[], shared_with: string[]) => Promise<void>;
}

/** The digests of the states that are kept on the disk, by the name of their file. */
export type Baseline = Record<string, string>;

/** A state from before a crash that is gone or was changed. */
export interface LostState {
  /** The name, for people, of the thing whose state this was. */
  where: string;
  file: Restored;
}

/** The beginning of a watch. */
interface Opened {
  baseline: Baseline;
  lost: LostState[];
}

/** A set of guarded files, shared by the actions that may change them. */
interface Scope {
  key: string;
  places: () => Place[];
  snapshot: Snapshot;
  users: number;
  /** The contents are written to the data folder, for a start after a crash. */
  is_saved: boolean;
  saved: string;
  /** The digest of the file that holds the contents; empty if there is none. */
  digest: string;
}

interface Window extends Watched {
  scopes: Scope[];
  baseline: Baseline;
  /** How many callers opened it and may still withdraw. */
  holders: number;
  restored: Restored[];
  waiting: { restored: Restored[]; shared_with: Set<string> };
}

const TOKENS = /\/(?:tokens|keys)\/[^/]+$/;
const MAX_STRANGERS = 100;

/**
 * Compares the guarded files of the machine before and after the commands of agents, and undoes what
 * nobody allowed. Changes while no command runs are a person's: they become the new state.
 */
export class Guarding {
  readonly #environment: Environment;
  readonly #user_home: string;
  readonly #windows = new Map<string, Window>();
  readonly #scopes = new LRUCache<string, Scope>({ max: 256 });
  readonly #accepted = new Set<string>();

  constructor(environment: Environment, user_home = homedir()) {
    this.#environment = environment;
    this.#user_home = user_home;
  }

  /** Whether any command runs. */
  get isWatching(): boolean {
    return this.#windows.size > 0;
  }

  /** Whether gate watches during this action. */
  watches(action_id: string): boolean {
    return this.#windows.has(action_id);
  }

  /**
   * Begins to watch, before an action starts. `strangers` are the folders of other projects. After a
   * crash the state from before the crash counts, if it is as `before` says; null: nobody knows.
   */
  async open(
    watched: Watched,
    strangers: readonly string[],
    resumed: { before: Baseline | null } | null = null,
  ): Promise<Opened> {
    const { action_id } = watched;
    const window = this.#windows.get(action_id);
    if (window) {
      window.holders++;
      return { baseline: window.baseline, lost: [] };
    }
    // Changes until now are the work of the commands that run already.
    this.#check();
    const lost: LostState[] = [];
    const scopes = this.#scopesOf(watched, strangers).map((wanted) => {
      const { scope, missing } = this.#use(wanted, resumed);
      if (missing) lost.push({ where: wanted.where, file: missing });
      return scope;
    });
    const saved = scopes.filter(({ is_saved }) => is_saved);
    const baseline = Object.fromEntries(saved.map((one) => [nameOf(one), one.digest]));
    this.#windows.set(action_id, {
      ...watched,
      scopes,
      baseline,
      holders: 1,
      restored: lost.map(({ file }) => file),
      waiting: { restored: [], shared_with: new Set() },
    });
    await this.#tell();
    return { baseline, lost };
  }

  /** Takes back one `open` of an action that did not start after all. */
  async withdraw(action_id: string): Promise<void> {
    const window = this.#windows.get(action_id);
    if (window && --window.holders === 0) await this.close(action_id);
  }

  /** Looks now, while actions run. */
  async look(): Promise<void> {
    this.#check();
    await this.#tell();
  }

  /** Looks for the last time after an action. Returns everything that was undone while it ran. */
  async close(action_id: string): Promise<Restored[]> {
    const window = this.#windows.get(action_id);
    if (!window) return [];
    this.#check();
    await this.#tell();
    this.#windows.delete(action_id);
    for (const scope of window.scopes) scope.users--;
    if (this.#windows.size === 0) this.#accepted.clear();
    return window.restored;
  }

  /** Accepts the next state of these files, because gate itself changed them for a person. */
  accept(paths: readonly string[]): void {
    if (!this.isWatching) return;
    for (const path of paths) this.#accepted.add(path);
  }

  #scopesOf(
    { root, cwd, scripts, action_id }: Watched,
    strangers: readonly string[],
  ): Wanted[] {
    // Hosts write their own data into the user's home all the time; `user` names what counts there.
    const folders = [...new Set([root, ...foldersUpTo(root, cwd, this.#user_home)])]
      .filter((folder) => folder !== this.#user_home && dirname(folder) !== folder);
    const { home } = this.#environment;
    const others = strangers.filter((one) => !folders.includes(one)).slice(0, MAX_STRANGERS);
    return [
      { key: "gate", places: () => placesOfGate(home), is_saved: false, where: "the data folder" },
      {
        key: "user",
        places: () => placesOfUser(this.#user_home),
        is_saved: true,
        where: "your home folder",
      },
      ...folders.map((folder) => ({
        key: `in ${folder}`,
        places: () => placesIn(folder),
        is_saved: true,
        where: `"${folder}"`,
      })),
      ...others.map((other) => ({
        key: `of ${other}`,
        places: () => placesOfStranger(other),
        is_saved: true,
        where: `"${other}"`,
      })),
      ...scripts.length === 0 ? [] : [{
        key: `scripts ${action_id}`,
        places: () => scripts.map((path) => ({ path, deep: false })),
        is_saved: true,
        where: "the scripts of the command",
      }],
    ];
  }

  #use(
    { where: _, ...wanted }: Wanted,
    resumed: { before: Baseline | null } | null,
  ): { scope: Scope; missing: Restored | null } {
    const scope = this.#scopes.get(wanted.key) ??
      { ...wanted, snapshot: new Map(), users: 0, saved: "", digest: "" };
    this.#scopes.set(wanted.key, scope);
    const isInUse = scope.users++ > 0;
    const kept = resumed && !isInUse ? this.#load(scope) : null;
    const found = isInUse ? scope.digest : kept?.digest ?? "";
    const isSame = !resumed || !scope.is_saved || isExpected(nameOf(scope), found, resumed.before);
    const missing = isSame ? null : this.#lostOf(scope, found, resumed?.before ?? null);
    if (isInUse) return { scope, missing };
    scope.places = wanted.places;
    // A state that others changed is no state to restore.
    const usable = isSame ? kept?.snapshot ?? null : null;
    scope.snapshot = usable ?? takeSnapshot(scope.places(), scope.snapshot);
    if (usable) scope.digest = found;
    else this.#save(scope);
    return { scope, missing };
  }

  #lostOf(scope: Scope, found: string, before: Baseline | null): Restored {
    const lost: Restored = {
      path: this.#file(scope),
      change: found === "" ? "deleted" : "modified",
      before_sha256: before?.[nameOf(scope)] ?? null,
      after_sha256: found || null,
      restored: false,
      quarantine: null,
    };
    const message = "The state of guarded files from before a crash is gone or changed";
    this.#environment.log("error", message, { ...lost });
    return lost;
  }

  /** Compares every scope in use, and undoes what no running action may have done. */
  #check(): void {
    const scopes = new Set([...this.#windows.values()].flatMap((window) => window.scopes));
    for (const scope of scopes) {
      for (const difference of compare(scope.places(), scope.snapshot)) {
        this.#judge(scope, difference);
      }
    }
  }

  #judge(scope: Scope, difference: Difference): void {
    const { path, now, change } = difference;
    const windows = [...this.#windows.values()].filter(({ scopes }) => scopes.includes(scope));
    // The daemon and a person's own commands add tokens while agents work.
    const isNew = change === "created" && scope.key === "gate" && TOKENS.test(path);
    const isHarmless = isNew || (change === "rewritten" && !scope.key.startsWith("scripts "));
    const isAllowed = isHarmless || this.#accepted.delete(path) ||
      windows.some(({ permits }) => isPermitted(difference, permits));
    if (isAllowed) return keep(scope.snapshot, path, now);
    const restored = this.#undo(difference, windows);
    // The restored file has another inode and change time than before.
    const after = compare([{ path, deep: false }], new Map()).find((one) => one.path === path);
    keep(scope.snapshot, path, after?.now ?? null);
    // Each start looks first, so whoever runs now may have changed it.
    const together = windows.map(({ action_id }) => action_id);
    for (const window of windows) {
      window.restored.push(restored);
      window.waiting.restored.push(restored);
      for (const id of together) if (id !== window.action_id) window.waiting.shared_with.add(id);
    }
  }

  #undo(difference: Difference, suspects: readonly Window[]): Restored {
    const folder = join(this.#environment.home, "quarantine", suspects[0]!.action_id);
    const restored = restore(difference, folder);
    this.#environment.log("warn", "A guarded file was changed without permission", {
      ...restored,
      actions: suspects.map(({ action_id }) => action_id),
    });
    return restored;
  }

  async #tell(): Promise<void> {
    for (const window of this.#windows.values()) {
      const { restored, shared_with } = window.waiting;
      if (restored.length === 0) continue;
      window.waiting = { restored: [], shared_with: new Set() };
      await window.report(restored, [...shared_with]);
    }
  }

  #file(scope: Scope): string {
    return join(this.#environment.home, "guarding", `${nameOf(scope)}.json`);
  }

  /** Writes the state from before a command, if it differs from the last one that was written. */
  #save(scope: Scope): void {
    if (!scope.is_saved) return;
    const state = [...scope.snapshot].map(([path, { signature }]) => `${path} ${signature}`).join();
    if (state === scope.saved) return;
    scope.saved = state;
    const files = [...scope.snapshot].map(([path, { content, ...rest }]) => ({
      path,
      ...rest,
      content: content && Buffer.from(content).toString("base64"),
    }));
    const text = JSON.stringify({ key: scope.key, files });
    scope.digest = sha256(text);
    try {
      mkdirSync(join(this.#environment.home, "guarding"), { recursive: true, mode: 0o700 });
      writeWhole(this.#file(scope), text, 0o600);
    } catch (error) {
      this.#environment.log("error", "Cannot keep the guarded files", { error: String(error) });
    }
  }

  /** Without a snapshot, the file is not one that the gate wrote. */
  #load(scope: Scope): { snapshot: Snapshot | null; digest: string } | null {
    let text: string;
    try {
      text = readFileSync(this.#file(scope), "utf8");
    } catch {
      return null;
    }
    const digest = sha256(text);
    try {
      const { key, files } = JSON.parse(text) as {
        key: string;
        files: (Omit<Kept, "content"> & { path: string; content: string | null })[];
      };
      if (key !== scope.key) return { snapshot: null, digest };
      const snapshot = new Map(files.map(({ path, content, ...rest }) => [
        path,
        { ...rest, content: content === null ? null : Buffer.from(content, "base64") },
      ]));
      return { snapshot, digest };
    } catch {
      return { snapshot: null, digest };
    }
  }
}

/** A set of guarded files that an action may change. `where` names it for people. */
interface Wanted extends Pick<Scope, "key" | "places" | "is_saved"> {
  where: string;
}

function nameOf({ key }: Scope): string {
  return sha256(key).slice(0, 24);
}

/** Whether a state is the one from before. A folder that was not watched then had none. */
function isExpected(name: string, found: string, before: Baseline | null): boolean {
  if (before === null) return found !== "";
  const expected = before[name];
  return expected === undefined || expected === found;
}

function keep(snapshot: Snapshot, path: string, now: Kept | null): void {
  if (now === null) snapshot.delete(path);
  else snapshot.set(path, now);
}
