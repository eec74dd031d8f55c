import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { LRUCache } from "lru-cache";
import type { GitState } from "./git_state.ts";
import type { SearchedPrograms } from "./shadows.ts";

/** The blocked and kept files at the start of a command. */
export interface Before {
  session_id: string;
  /** When it started, in milliseconds since 1970. */
  started_at: number;
  /** It has ended after this time, whether it is reported or not. */
  at_most_ms: number;
  folders: readonly string[];
  writes_elsewhere: boolean;
  paths: ReadonlySet<string>;
  /** The folders that were kept as a whole. */
  whole: readonly string[];
  git: ReadonlyMap<string, GitState>;
  /** The links among the paths, with their targets: no mount keeps a link in its place. */
  links: ReadonlyMap<string, string>;
  programs: SearchedPrograms;
  /** Whether one of its processes may go on although its outcome is recorded. */
  goes_on?: boolean;
}

const MAX_RUNNING = 1_000;
/** Longer than any command may run, for a day, and a process of it may go on, for another one. */
const KEPT_MS = 49 * 60 * 60 * 1000;

/**
 * The state before each command that runs in the sandbox. It is also kept on the disk, because a
 * command goes on while the daemon restarts.
 */
export class RunningCommands {
  readonly #folder: string;
  readonly #now: () => number;
  readonly #known = new LRUCache<string, Before>({ max: MAX_RUNNING });

  /** Forgets what earlier daemons left of commands that cannot run any more. */
  constructor(gate_home: string, now: () => number) {
    this.#folder = join(gate_home, "run", "walls");
    this.#now = now;
    for (const name of namesIn(this.#folder)) {
      const path = join(this.#folder, name);
      const before = name.endsWith(".json") ? this.#read(path) : null;
      if (before === null || this.#isOver(before)) rmSync(path, { force: true });
    }
  }

  /** @throws the error of the file system */
  start(action_id: string, before: Before): void {
    this.#known.set(action_id, before);
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const file = this.#fileOf(action_id);
    // A part of it would count as no command. It need not survive a power cut, as no command does.
    writeFileSync(`${file}.new`, textOf(before), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }

  /** The state before the command; null if it is not known to run in the sandbox. */
  find(action_id: string): Before | null {
    return this.#known.get(action_id) ?? this.#read(this.#fileOf(action_id));
  }

  end(action_id: string): void {
    this.#known.delete(action_id);
    try {
      unlinkSync(this.#fileOf(action_id));
    } catch {
      // It ran outside.
    }
  }

  /**
   * The commands that may run, by the ids of their actions. Forgets those that cannot run any more, as
   * the commands of a removed project, of which nobody tells the end.
   */
  all(): Map<string, Before> {
    const ids = namesIn(this.#folder).filter((name) => name.endsWith(".json"))
      .map((name) => name.replace(/\.json$/, ""));
    return new Map(ids.flatMap((id) => {
      const before = this.find(id);
      if (before === null) return [];
      if (!this.#isOver(before)) return [[id, before]];
      this.end(id);
      return [];
    }));
  }

  #isOver({ started_at }: Before): boolean {
    return this.#now() - started_at > KEPT_MS;
  }

  #fileOf(action_id: string): string {
    return join(this.#folder, `${action_id}.json`);
  }

  #read(path: string): Before | null {
    try {
      return beforeOf(readFileSync(path, "utf8"));
    } catch {
      return null; // there is none
    }
  }
}

function textOf({ paths, git, links, programs, ...rest }: Before): string {
  return JSON.stringify({
    ...rest,
    paths: [...paths],
    git: [...git],
    links: [...links],
    programs: { ...programs, names: [...programs.names].map(([at, names]) => [at, [...names]]) },
  });
}

function beforeOf(text: string): Before {
  const { paths, git, links, programs, ...rest } = JSON.parse(text);
  const names = programs.names.map(([at, all]: [string, string[]]) => [at, new Set(all)]);
  return {
    ...rest,
    paths: new Set(paths),
    git: new Map(git),
    links: new Map(links),
    programs: { ...programs, names: new Map(names) },
  };
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // nothing ran here yet
  }
}
