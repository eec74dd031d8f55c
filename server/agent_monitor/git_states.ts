import { LRUCache } from "lru-cache";
import { setImmediate as pause, setTimeout as wait } from "node:timers/promises";
import { readProgram } from "../runtime/read_program.ts";

const KEPT_MS = 10_000;
const LIMIT_MS = 2_000;
/** At once. Further folders have their turn in a later round. */
const MOST = 8;
/** A round waits this long for git, which may read a large repository. */
const WAIT_MS = 400;

// Nothing in the repository may name a program that git then runs.
const SAFELY = [
  "--no-optional-locks",
  ...["core.fsmonitor=false", "core.hooksPath=/dev/null", "safe.bareRepository=explicit"]
    .flatMap((setting) => ["-c", setting]),
];

interface State {
  at: number;
  branch: string | null;
  changed_files: number | null;
}

/** Remembers the branch and the number of changed files of the folders in which agents work. */
export class GitStates {
  readonly #known = new LRUCache<string, State>({ max: 200 });
  readonly #reading = new Map<string, Promise<void>>();

  /** The state as it was read last; null before that, and outside of repositories. */
  of(folder: string): { branch: string | null; changed_files: number | null } | null {
    const known = this.#known.get(folder);
    if (!known || known.branch === null) return null;
    return { branch: known.branch, changed_files: known.changed_files };
  }

  /** Reads those folders again whose state is old. Those that take long are known later. */
  async refresh(folders: readonly string[], now: number): Promise<void> {
    const old = [...new Set(folders)].filter((folder) => {
      const known = this.#known.get(folder);
      return !this.#reading.has(folder) && (!known || now - known.at >= KEPT_MS);
    });
    for (const folder of old.slice(0, MOST - this.#reading.size)) {
      this.#reading.set(folder, this.#read(folder, now));
      // The start of each program holds the event loop for some milliseconds.
      await pause();
    }
    const stop = new AbortController();
    const limit = wait(WAIT_MS, undefined, { signal: stop.signal }).catch(() => {});
    await Promise.race([Promise.all(this.#reading.values()), limit]);
    stop.abort();
  }

  async #read(folder: string, now: number): Promise<void> {
    const state = await stateOf(folder);
    this.#known.set(folder, { at: now, ...state });
    this.#reading.delete(folder);
  }
}

async function stateOf(folder: string): Promise<Omit<State, "at">> {
  const args = [...SAFELY, "status", "--porcelain=v2", "--branch", "--untracked-files=no"];
  const text = await readProgram("git", args, { cwd: folder, timeout_ms: LIMIT_MS });
  if (text === null) return { branch: null, changed_files: null };
  const branch = /^# branch\.head (.+)$/m.exec(text)?.[1] ?? null;
  const changed_files = text.split("\n").filter((line) => /^[12u] /.test(line)).length;
  return { branch: branch?.slice(0, 256) ?? null, changed_files };
}
