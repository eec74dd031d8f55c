import { realpathSync } from "node:fs";
import { LRUCache } from "lru-cache";
import { gitFoldersOf } from "../runtime/git_folder.ts";
import { isSameProcess, type ProcessIdentity } from "../runtime/processes.ts";
import { isWithin } from "./bubblewrap.ts";
import type { KeptLanes, Lane, Side } from "./kept_lanes.ts";

const MAX_RUNNING = 10_000;
/** Shorter than a claim waits for its answer. */
const WAIT_MS = 7_000;
/** After this time a process that goes on keeps nobody waiting. */
const GOES_ON_MS = 24 * 60 * 60 * 1000;

/**
 * Keeps commands in a sandbox apart from commands that run outside because their text is proved. A
 * proof is about the files as they were: a sandboxed command that runs at the same time could put a
 * link or a repository with hooks where the proof found none.
 */
export class Lanes {
  readonly #running = new LRUCache<string, Lane & { side: Side }>({
    max: MAX_RUNNING,
    dispose: (_, key) => this.#kept?.forget(key),
  });
  readonly #wait_ms: number;
  readonly #kept: KeptLanes | null;
  #waiting: (() => void)[] = [];

  /** Commands of an earlier daemon that may still run keep their side. */
  constructor(kept: KeptLanes | null = null, wait_ms = WAIT_MS) {
    this.#wait_ms = wait_ms;
    this.#kept = kept;
    for (const { key, lane, side } of kept?.take() ?? []) this.#add(key, lane, side);
  }

  /** Whether the command may start outside, because no sandboxed command works in its folders. */
  outside(key: string, lane: Lane): boolean {
    if (this.#meets(lane, "behind")) return false;
    this.#enter(key, lane, "outside");
    return true;
  }

  /** Waits until no proved command works in its folders; false if that takes too long. */
  async behind(key: string, lane: Lane): Promise<boolean> {
    const late = AbortSignal.timeout(this.#wait_ms);
    while (this.#meets(lane, "outside")) {
      if (late.aborted) return false;
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
        late.addEventListener("abort", () => resolve(), { once: true });
      });
    }
    this.#enter(key, lane, "behind");
    return true;
  }

  /** A command of a daemon that kept no lanes may still run in the sandbox. */
  resume(lane: Lane): void {
    const isKnown = [...this.#running.values()].some((one) => one.action_id === lane.action_id);
    if (!isKnown) this.#add(lane.action_id, lane, "behind");
  }

  /** The attempt with this key did not become a run. */
  leave(key: string): void {
    this.#running.delete(key);
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** The command of this action has ended. */
  end(action_id: string): void {
    for (const [key, lane] of [...this.#running.entries()]) {
      if (lane.action_id === action_id) this.leave(key);
    }
  }

  /** A process of this action's command goes on in the sandbox, after the one that ran it. */
  goOn(action_id: string, process: ProcessIdentity): void {
    // A process in another container is not seen, so only the time ends its lane.
    const seen = isSameProcess(process) ? process : undefined;
    for (const [key, { side, ...lane }] of [...this.#running.entries()]) {
      if (lane.action_id !== action_id) continue;
      this.#enter(key, { ...lane, at_most_ms: GOES_ON_MS, process: seen }, side);
    }
  }

  /** Whether the command of this action runs in a sandbox. */
  holds(action_id: string): boolean {
    return [...this.#running.values()].some((one) =>
      one.side === "behind" && one.action_id === action_id && !isGone(one)
    );
  }

  #enter(key: string, lane: Lane, side: Side): void {
    this.#add(key, lane, side);
    this.#kept?.keep(key, lane, side);
  }

  #add(key: string, lane: Lane, side: Side): void {
    this.#running.set(key, { ...lane, side }, { ttl: lane.at_most_ms });
  }

  #meets({ folders, action_id, writes_elsewhere }: Lane, side: Side): boolean {
    const others = [...this.#running.values()].filter((one) =>
      one.side === side && one.action_id !== action_id && !isGone(one)
    );
    if (others.length === 0) return false;
    if (writes_elsewhere || others.some((one) => one.writes_elsewhere)) return true;
    const own = areasOf(folders);
    return others.some((other) =>
      areasOf(other.folders).some((one) =>
        own.some((area) => isWithin(area, one) || isWithin(one, area))
      )
    );
  }
}

/**
 * Whether the process that runs it is gone, although nobody reported its end. Outside the sandbox its
 * programs go on without it.
 */
function isGone({ side, process }: Lane & { side: Side }): boolean {
  if (side === "outside" || process === undefined) return false;
  return process === null || !isSameProcess(process);
}

/** The folders with those of git that lie elsewhere. */
function areasOf(folders: readonly string[]): string[] {
  return [...folders, ...folders.flatMap(gitFoldersOf).map(realOf)];
}

function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
