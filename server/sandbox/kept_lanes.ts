import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { identify, type ProcessIdentity } from "../runtime/processes.ts";

/** A command that runs, or is about to. */
export interface Lane {
  action_id: string;
  /** Real paths of the folders in which it works. */
  folders: readonly string[];
  /** In the sandbox it may also write outside of these folders, where any other command may read. */
  writes_elsewhere?: boolean;
  /** It has ended after this time, whether it is reported or not. */
  at_most_ms: number;
  /** The process that runs it; null if it is gone, undefined if it is not known. */
  process?: ProcessIdentity | null | undefined;
}

export type Side = "behind" | "outside";

/** A lane on the disk. */
interface KeptLane {
  lane: Lane;
  side: Side;
  /** In milliseconds since 1970. */
  ends_at: number;
  /** The start of the machine in which it runs; null if that is not known. */
  machine: string | null;
}

/** The lanes on the disk: commands go on while the daemon restarts. */
export class KeptLanes {
  readonly #folder: string;
  readonly #now: () => number;
  /** The first process starts with the machine, or with the container; all others end with it. */
  readonly #machine = identify(1)?.start_time ?? null;

  constructor(gate_home: string, now: () => number) {
    this.#folder = join(gate_home, "run", "lanes");
    this.#now = now;
  }

  /** The lanes of commands that may still run. Forgets the others. */
  take(): { key: string; lane: Lane; side: Side }[] {
    return namesIn(this.#folder).flatMap((name) => {
      const key = name.replace(/\.json$/, "");
      const kept = name.endsWith(".json") ? this.#read(name) : null;
      const at_most_ms = (kept?.ends_at ?? 0) - this.#now();
      if (kept && at_most_ms > 0 && kept.machine === this.#machine) {
        return [{ key, lane: { ...kept.lane, at_most_ms }, side: kept.side }];
      }
      rmSync(join(this.#folder, name), { force: true });
      return [];
    });
  }

  /** @throws the error of the file system */
  keep(key: string, lane: Lane, side: Side): void {
    const ends_at = this.#now() + lane.at_most_ms;
    const kept: KeptLane = { lane, side, ends_at, machine: this.#machine };
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const file = this.#fileOf(key);
    // A part of it would count as no command. It need not survive a power cut, as no command does.
    writeFileSync(`${file}.new`, JSON.stringify(kept), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }

  forget(key: string): void {
    rmSync(this.#fileOf(key), { force: true });
  }

  #fileOf(key: string): string {
    return join(this.#folder, `${key}.json`);
  }

  #read(name: string): KeptLane | null {
    try {
      return JSON.parse(readFileSync(join(this.#folder, name), "utf8"));
    } catch {
      return null; // written in part, so its command never started
    }
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // nothing ran here yet
  }
}
