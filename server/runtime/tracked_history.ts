import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { LRUCache } from "lru-cache";
import { commandEnvironment } from "./command_environment.ts";
import { systemProgram } from "./system_program.ts";

/** The names of all files in the commits of a repository, deleted ones and other branches included. */
export interface History {
  /** Paths from the top. It only grows, while git reads further commits in the background. */
  names: readonly string[];
  /** `unknown` if git fails, takes too long or finds too many names. */
  state: "reading" | "known" | "unknown";
  /** Resolves when git has listed what is new; null if it lists nothing at present. */
  running: Promise<void> | null;
}

const LIMITS = {
  ms: 120_000,
  names: 1_000_000,
  name_length: 4_096,
  all_names: 64 * 1024 * 1024,
  tips: 200_000,
  repositories: 200,
} as const;

/** Files that change with the commits, branches and stashes of a repository. */
const CHANGING = ["HEAD", "packed-refs", "FETCH_HEAD", "logs/HEAD", "logs/refs/stash", "reftable"];
const MOST_FOLDERS = 300;

const KNOWN = new LRUCache<string, HistoryReader>({ max: LIMITS.repositories });

/**
 * The history of the repository whose own folder this is. The first call starts to read it; a later
 * one starts to read what has been added.
 */
export function historyOf(git: string): History {
  const reader = KNOWN.get(git) ?? new HistoryReader(git);
  KNOWN.set(git, reader);
  reader.refresh();
  return reader;
}

class HistoryReader implements History {
  readonly names: string[] = [];
  state: History["state"] = "reading";
  running: Promise<void> | null = null;
  readonly #seen = new Set<string>();
  /** The newest commits that were read. */
  #tips: ReadonlySet<string> = new Set();
  #files = "";
  #names_length = 0;
  /** Another attempt would take too long again. */
  #is_over = false;

  constructor(readonly git: string) {}

  /** Starts to read new commits if there may be some. */
  refresh(): void {
    if (this.running !== null || this.#is_over) return;
    const files = stateOfCommits(this.git);
    if (files === this.#files) return;
    this.#files = files;
    // The names until now are those of other commits.
    this.state = "reading";
    const started = performance.now();
    this.running = this.#read(started).then(() => {
      this.state = "known";
    }, (error) => {
      this.state = "unknown";
      this.#is_over = error instanceof TooMuch || performance.now() - started > LIMITS.ms;
    }).finally(() => {
      this.running = null;
    });
  }

  /** @throws Error if git fails or finds too much */
  async #read(started: number): Promise<void> {
    const left = () => LIMITS.ms - (performance.now() - started);
    const tips = new Set<string>();
    const listed = this.#start(["rev-list", "--all", "--reflog", "--no-walk"], null, left());
    await split(listed, "\n", (tip) => tips.add(tip), LIMITS.tips);
    const added = [...tips].filter((tip) => !this.#tips.has(tip));
    if (added.length === 0) return;
    const commits = this.#start(["rev-list", "--stdin", "--ignore-missing"], "pipe", left());
    // These are git's own commands without settings: no config names a program that they run.
    const shown = this.#start(
      ["diff-tree", "--stdin", "-r", "-c", "--root", "--name-only", "--no-commit-id", "-z"],
      "pipe",
      left(),
    );
    commits.stdout!.pipe(shown.stdin!);
    const bounds = [...this.#tips].map((tip) => `^${tip}`);
    commits.stdin!.end([...added, ...bounds].join("\n") + "\n");
    const note = (name: string) => {
      if (this.#seen.has(name)) return;
      this.#names_length += name.length;
      if (this.#names_length > LIMITS.all_names) {
        throw new TooMuch("the names are too long together");
      }
      this.#seen.add(name);
      this.names.push(name);
    };
    const succeeded = exitOf(commits);
    await Promise.all([split(shown, "\0", note, LIMITS.names), succeeded]);
    this.#tips = tips;
  }

  #start(args: readonly string[], stdin: "pipe" | null, timeout: number): ChildProcess {
    const program = systemProgram("git");
    if (program === null) throw new Error("this machine has no git in its own folders");
    const child = spawn(program, ["--git-dir", this.git, ...args], {
      cwd: this.git,
      stdio: [stdin ?? "ignore", "pipe", "ignore"],
      timeout: Math.max(1, Math.round(timeout)),
      killSignal: "SIGKILL",
      env: {
        ...commandEnvironment(process.env),
        GIT_NO_LAZY_FETCH: "1",
        GIT_OPTIONAL_LOCKS: "0",
        GIT_TERMINAL_PROMPT: "0",
      },
    });
    // A process that has ended takes no more input; its exit tells.
    child.stdin?.on("error", () => {});
    return child;
  }
}

class TooMuch extends Error {}

/**
 * Calls `use` for each part of a process's output. @throws Error if the process fails, or if its parts
 * are too many or too long
 */
async function split(
  child: ChildProcess,
  separator: string,
  use: (part: string) => void,
  most: number,
): Promise<void> {
  const exited = exitOf(child);
  exited.catch(() => {}); // awaited below
  const decoder = new TextDecoder();
  let rest = "";
  let parts = 0;
  try {
    for await (const piece of child.stdout!) {
      const lines = (rest + decoder.decode(piece as Uint8Array, { stream: true })).split(separator);
      rest = lines.pop()!;
      for (const line of lines) {
        if (line !== "") use(line);
      }
      parts += lines.length;
      if (parts > most * PARTS_FOR_A_NAME) throw new TooMuch("the history has too many names");
      // Git stores names of any length, and adding each piece to a long rest takes ever longer.
      if (rest.length > LIMITS.name_length) throw new TooMuch("the history has a name too long");
    }
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  }
  await exited;
}

/** Each change of a file names it again. */
const PARTS_FOR_A_NAME = 50;

function exitOf(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      if (code === 0) resolve();
      else reject(new Error(`git ended with ${code}`));
    });
  });
}

/** A text that changes with each change of a branch: git replaces the file of a reference. */
function stateOfCommits(git: string): string {
  const folders = [join(git, "refs")];
  const linked = foldersIn(join(git, "worktrees"));
  for (const folder of folders) {
    if (folders.length < MOST_FOLDERS) folders.push(...foldersIn(folder));
  }
  const files = CHANGING.map((name) => join(git, name));
  const others = linked.flatMap((folder) => [join(folder, "HEAD"), join(folder, "logs/HEAD")]);
  return [...files, ...others, ...folders].map(stateOf).join();
}

function foldersIn(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory())
      .map(({ name }) => join(folder, name));
  } catch {
    return [];
  }
}

function stateOf(path: string): string {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats ? `${stats.ino} ${stats.size} ${stats.mtimeMs}` : "";
  } catch {
    return "?";
  }
}
