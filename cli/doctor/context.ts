import type { DaemonStatus } from "../../server/global/schema.ts";
import { type Machine, machineOf } from "../hosts/machine.ts";
import type { Io } from "../io.ts";
import { type Place, placeOf } from "../place.ts";
import { findRoot } from "../project.ts";
import { askDaemon } from "../service/take_over.ts";
import type { Finding } from "../../server/doctor/schema.ts";

/** The state that the checks read. They start and change nothing. */
export interface CheckContext {
  io: Io;
  place: Place;
  machine: Machine;
  /** The status that the daemon reports; null when none answers. */
  daemon: DaemonStatus | null;
  /** The error of a running daemon that refuses to answer. */
  refusal: string | null;
  /** The folders of all known projects, the current one first. */
  roots: string[];
  now: number;
}

export async function gatherContext(io: Io): Promise<CheckContext> {
  let daemon: DaemonStatus | null = null;
  let refusal: string | null = null;
  try {
    daemon = await askDaemon(io);
  } catch (error) {
    refusal = (error as Error).message;
  }
  const here = findRoot(io);
  const known = daemon?.projects.flatMap(({ roots }) => roots) ?? [];
  const roots = [...new Set([...here ? [here] : [], ...known])];
  const now = Date.now();
  return { io, place: placeOf(io), machine: machineOf(io), daemon, refusal, roots, now };
}

/** The findings of one check, one line each. */
export class Findings {
  readonly list: Finding[] = [];
  readonly #check: string;

  constructor(check: string) {
    this.#check = check;
  }

  ok(message: string): void {
    this.#add("ok", message, { fix: null, repair: null });
  }

  warn(message: string, fix: string | null = null, repair: Finding["repair"] = null): void {
    this.#add("warning", message, { fix, repair });
  }

  fail(message: string, fix: string | null = null, repair: Finding["repair"] = null): void {
    this.#add("problem", message, { fix, repair });
  }

  /** Adds one line for many things: names the first ones and counts the others. */
  warnAll(
    things: readonly string[],
    what: string,
    fix: string,
    repair: Finding["repair"] = null,
  ): void {
    if (things.length === 0) return;
    const shown = things.slice(0, MOST_NAMED).join(", ");
    const more = things.length > MOST_NAMED ? ` and ${things.length - MOST_NAMED} more` : "";
    this.warn(`${what}: ${shown}${more}`, fix, repair);
  }

  #add(
    level: Finding["level"],
    message: string,
    { fix, repair }: Pick<Finding, "fix" | "repair">,
  ): void {
    this.list.push({ check: this.#check, level, message, fix, repair });
  }
}

const MOST_NAMED = 5;
