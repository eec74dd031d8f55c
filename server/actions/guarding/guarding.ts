import { createHash } from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { LRUCache } from "lru-cache";
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

/** A set of guarded files, shared by the actions that may change them. */
interface Scope {
  key: string;
  places: () => Place[];
  snapshot: Snapshot;
  users: number;
  /** The contents are written to the data folder, for a start after a crash. */
  is_saved: boolean;
  saved: string;
}

interface Window extends Watched {
  scopes: Scope[];
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
   * crash (`is_resumed`) the state from before the crash counts.
   */
  async open(watched: Watched, strangers: readonly string[], is_resumed = false): Promise<void> {
    if (this.#windows.has(watched.action_id)) return;
    // Whatever changed until now is the work of those that run already.
    this.#check();
    const scopes = this.#scopesOf(watched, strangers).map((scope) => this.#use(scope, is_resumed));
    this.#windows.set(watched.action_id, {
      ...watched,
      scopes,
      restored: [],
      waiting: { restored: [], shared_with: new Set() },
    });
    await this.#tell();
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
  ): Pick<Scope, "key" | "places" | "is_saved">[] {
    // Hosts write their own data into the user's home all the time; `user` names what counts there.
    const folders = [...new Set([root, ...foldersUpTo(root, cwd, this.#user_home)])]
      .filter((folder) => folder !== this.#user_home && dirname(folder) !== folder);
    const { home } = this.#environment;
    const others = strangers.filter((one) => !folders.includes(one)).slice(0, MAX_STRANGERS);
    return [
      { key: "gate", places: () => placesOfGate(home), is_saved: false },
      { key: "user", places: () => placesOfUser(this.#user_home), is_saved: true },
      ...folders.map((folder) => ({
        key: `in ${folder}`,
        places: () => placesIn(folder),
        is_saved: true,
      })),
      ...others.map((other) => ({
        key: `of ${other}`,
        places: () => placesOfStranger(other),
        is_saved: true,
      })),
      ...scripts.length === 0 ? [] : [{
        key: `scripts ${action_id}`,
        places: () => scripts.map((path) => ({ path, deep: false })),
        is_saved: true,
      }],
    ];
  }

  #use(wanted: Pick<Scope, "key" | "places" | "is_saved">, is_resumed: boolean): Scope {
    const scope = this.#scopes.get(wanted.key) ??
      { ...wanted, snapshot: new Map(), users: 0, saved: "" };
    this.#scopes.set(wanted.key, scope);
    if (scope.users++ > 0) return scope;
    scope.places = wanted.places;
    const kept = is_resumed ? this.#load(scope) : null;
    scope.snapshot = kept ?? takeSnapshot(scope.places(), scope.snapshot);
    if (kept === null) this.#save(scope);
    return scope;
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

  #file({ key }: Scope): string {
    const name = createHash("sha256").update(key).digest("hex").slice(0, 24);
    return join(this.#environment.home, "guarding", `${name}.json`);
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
    try {
      mkdirSync(join(this.#environment.home, "guarding"), { recursive: true, mode: 0o700 });
      writeWhole(this.#file(scope), JSON.stringify({ key: scope.key, files }), 0o600);
    } catch (error) {
      this.#environment.log("error", "Cannot keep the guarded files", { error: String(error) });
    }
  }

  #load(scope: Scope): Snapshot | null {
    try {
      const { key, files } = JSON.parse(readFileSync(this.#file(scope), "utf8")) as {
        key: string;
        files: (Omit<Kept, "content"> & { path: string; content: string | null })[];
      };
      if (key !== scope.key) return null;
      return new Map(files.map(({ path, content, ...rest }) => [
        path,
        { ...rest, content: content === null ? null : Buffer.from(content, "base64") },
      ]));
    } catch {
      return null;
    }
  }
}

function keep(snapshot: Snapshot, path: string, now: Kept | null): void {
  if (now === null) snapshot.delete(path);
  else snapshot.set(path, now);
}
