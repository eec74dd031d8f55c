import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { LRUCache } from "lru-cache";
import type { Environment } from "../../environment.ts";
import { GateError } from "../../errors.ts";
import { isPermitted, type Permits } from "./permits.ts";
import { foldersUpTo, placesIn, placesOfGate, placesOfStranger, placesOfUser } from "./places.ts";
import { restore, type Restored } from "./restore.ts";
import {
  type Baseline,
  isExpected,
  loadState,
  nameOfState,
  saveState,
  stateFile,
  stateText,
} from "./saved_state.ts";
import {
  compare,
  type Difference,
  type Kept,
  type Place,
  type Snapshot,
  takeSnapshot,
} from "./snapshot.ts";

/** An action that may change guarded files while it runs. */
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
  /** The state that was written last; null before the first. */
  saved: string | null;
  /** The digest of the file that holds the contents; empty if there is none. */
  digest: string;
}

interface Window extends Watched {
  scopes: Scope[];
  baseline: Baseline;
  /** How many callers opened it and may still withdraw. */
  holders: number;
  /** Everything that was undone while it ran. */
  restored: Restored[];
  waiting: Waiting;
}

/** The part of what was undone that no report names yet. */
interface Waiting {
  restored: Restored[];
  shared_with: Set<string>;
}

/** The keys of scopes of the project begin so. */
const IN_PROJECT = "in ";
const TOKENS = /\/(?:tokens|keys)\/[^/]+$/;
const MAX_STRANGERS = 100;

/**
 * The comparison at an agent's contact also serves an action that starts within this time. The commands
 * that run already could as well change the files right after its start.
 */
const FRESH_MS = 20;

/**
 * A comparison at the connection of a client serves its contact within this time. A command that runs
 * could as well change a file right after a comparison at the contact.
 */
const AHEAD_MS = 10;

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
  /** The time of the comparison at the last contact of an agent. */
  #looked = -Infinity;
  /** The comparison at the newest connection, until a contact takes it. */
  #ahead: { at: number; reported: Promise<void> } | null = null;

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
   * Begins to watch, before an action starts. `strangers` are the folders of other projects. For an
   * action that ran before a crash, gate compares with the kept states, if their digests are those of
   * `resumed.before`; null when the digests are not known.
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
    if (performance.now() - this.#looked > FRESH_MS) this.#check();
    const lost: LostState[] = [];
    const scopes = this.#scopesOf(watched, strangers).map((wanted) => {
      const { scope, missing } = this.#use(wanted, resumed);
      if (missing) lost.push({ where: wanted.where, file: missing });
      return scope;
    });
    const saved = scopes.filter(({ is_saved }) => is_saved);
    const baseline = Object.fromEntries(saved.map((one) => [nameOfState(one.key), one.digest]));
    this.#windows.set(action_id, {
      ...watched,
      scopes,
      baseline,
      holders: 1,
      restored: lost.map(({ file }) => file),
      waiting: nothingWaiting(),
    });
    await this.#report();
    return { baseline, lost };
  }

  /** Takes back one `open` of an action that did not start after all. */
  async withdraw(action_id: string): Promise<void> {
    const window = this.#windows.get(action_id);
    if (window && --window.holders === 0) await this.close(action_id);
  }

  /** Compares at the contact of an agent, while actions run. */
  async look(): Promise<void> {
    const ahead = this.#ahead;
    this.#ahead = null;
    if (ahead && performance.now() - ahead.at <= AHEAD_MS) return await ahead.reported;
    await this.#compare();
  }

  /** Compares while a client that has just connected still prepares its request. */
  lookAhead(): void {
    if (!this.isWatching) return;
    const ahead = { at: performance.now(), reported: this.#compare() };
    ahead.reported.catch(() => {}); // the contact reports it
    this.#ahead = ahead;
  }

  async #compare(): Promise<void> {
    const at = performance.now();
    this.#check();
    this.#looked = at;
    await this.#report();
  }

  /**
   * Compares for the last time after an action. Returns everything that was undone while it ran.
   * @throws GateError `unavailable` while that cannot be recorded; gate watches on
   */
  async close(action_id: string): Promise<Restored[]> {
    const window = this.#windows.get(action_id);
    if (!window) return [];
    this.#check();
    await this.#report();
    if (window.waiting.restored.length > 0) throw unreported(action_id);
    // Another call may have closed it meanwhile.
    if (!this.#windows.delete(action_id)) return window.restored;
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
        key: `${IN_PROJECT}${folder}`,
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
      { ...wanted, snapshot: new Map(), users: 0, saved: null, digest: "" };
    this.#scopes.set(wanted.key, scope);
    const isInUse = scope.users++ > 0;
    const kept = resumed && !isInUse ? loadState(this.#fileOf(scope), scope.key) : null;
    const found = isInUse ? scope.digest : kept?.digest ?? "";
    const isSame = !resumed || !scope.is_saved ||
      isExpected(nameOfState(scope.key), found, resumed.before);
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
      path: this.#fileOf(scope),
      change: found === "" ? "deleted" : "modified",
      before_sha256: before?.[nameOfState(scope.key)] ?? null,
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
    // Loops instead of lists: many commands may run, and each action compares.
    const scopes = new Set<Scope>();
    for (const window of this.#windows.values()) {
      for (const scope of window.scopes) scopes.add(scope);
    }
    for (const scope of scopes) {
      for (const difference of compare(scope.places(), scope.snapshot)) {
        this.#settle(scope, difference);
      }
    }
  }

  /** Keeps a permitted difference as the new state, and undoes any other. */
  #settle(scope: Scope, difference: Difference): void {
    const { path, now, change } = difference;
    const windows = [...this.#windows.values()].filter(({ scopes }) => scopes.includes(scope));
    // The daemon and a person's own commands add tokens while agents work.
    const isNew = change === "created" && scope.key === "gate" && TOKENS.test(path);
    const isHarmless = isNew || (change === "rewritten" && !scope.key.startsWith("scripts "));
    const isAllowed = isHarmless || this.#accepted.delete(path) ||
      windows.some(({ permits }) => isPermitted(difference, permits));
    if (isAllowed) return keep(scope.snapshot, path, now);
    // In the project, a command could put a link into the place of a folder.
    const follows = change !== "created" || !scope.key.startsWith(IN_PROJECT);
    const restored = this.#undo(difference, windows, follows);
    // The restored file has another inode and change time than before.
    const after = compare([{ path, deep: false }], new Map()).find((one) => one.path === path);
    keep(scope.snapshot, path, after?.now ?? null);
    // Each start compares first, so every action that runs now may have changed it.
    const together = windows.map(({ action_id }) => action_id);
    for (const window of windows) {
      window.restored.push(restored);
      window.waiting.restored.push(restored);
      for (const id of together) if (id !== window.action_id) window.waiting.shared_with.add(id);
    }
  }

  #undo(difference: Difference, suspects: readonly Window[], follows: boolean): Restored {
    const folder = join(this.#environment.home, "quarantine", suspects[0]!.action_id);
    const restored = restore(difference, folder, { follows });
    this.#environment.log("warn", "A guarded file was changed without permission", {
      ...restored,
      actions: suspects.map(({ action_id }) => action_id),
    });
    return restored;
  }

  /** Makes the open reports. One that fails stays open, so that the next look makes it again. */
  async #report(): Promise<void> {
    for (const window of this.#windows.values()) {
      const { waiting, action_id } = window;
      if (waiting.restored.length === 0) continue;
      window.waiting = nothingWaiting();
      try {
        await window.report(waiting.restored, [...waiting.shared_with]);
      } catch (error) {
        window.waiting = {
          restored: [...waiting.restored, ...window.waiting.restored],
          shared_with: new Set([...waiting.shared_with, ...window.waiting.shared_with]),
        };
        const message = "Cannot record what was undone; it is tried again";
        this.#environment.log("error", message, { action_id, error: String(error) });
      }
    }
  }

  #fileOf({ key }: Scope): string {
    return stateFile(this.#environment.home, key);
  }

  /** Writes the state from before a command, if it differs from the last one that was written. */
  #save(scope: Scope): void {
    if (!scope.is_saved) return;
    const state = [...scope.snapshot].map(([path, { signature }]) => `${path} ${signature}`).join();
    if (state === scope.saved) return;
    const { text, digest } = stateText(scope.key, scope.snapshot);
    // Without its file too: then a start after a crash reports the state as lost.
    scope.digest = digest;
    try {
      saveState(this.#fileOf(scope), text);
      scope.saved = state;
    } catch (error) {
      this.#environment.log("error", "Cannot keep the guarded files", { error: String(error) });
    }
  }
}

/** A set of guarded files that an action may change. `where` names it for people. */
interface Wanted extends Pick<Scope, "key" | "places" | "is_saved"> {
  where: string;
}

function unreported(action_id: string): GateError {
  return new GateError(
    "unavailable",
    `Cannot finish action "${action_id}": gate undid changes and cannot record them; ` +
      "report the result again",
  );
}

function nothingWaiting(): Waiting {
  return { restored: [], shared_with: new Set() };
}

function keep(snapshot: Snapshot, path: string, now: Kept | null): void {
  if (now === null) snapshot.delete(path);
  else snapshot.set(path, now);
}
