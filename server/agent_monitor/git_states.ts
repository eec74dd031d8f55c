import { LRUCache } from "lru-cache";
import { readProgram } from "../runtime/read_program.ts";

const KEPT_MS = 10_000;
const LIMIT_MS = 2_000;
/** In one round. Further folders have their turn in the next one. */
const MOST = 8;

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

  /** The state as it was read last; null before that, and outside of repositories. */
  of(folder: string): { branch: string | null; changed_files: number | null } | null {
    const known = this.#known.get(folder);
    if (!known || known.branch === null) return null;
    return { branch: known.branch, changed_files: known.changed_files };
  }

  /** Reads those folders again whose state is old. */
  async refresh(folders: readonly string[], now: number): Promise<void> {
    const old = [...new Set(folders)].filter((folder) => {
      const known = this.#known.get(folder);
      return !known || now - known.at >= KEPT_MS;
    });
    await Promise.all(
      old.slice(0, MOST).map(async (folder) => {
        this.#known.set(folder, { at: now, ...await stateOf(folder) });
      }),
    );
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
