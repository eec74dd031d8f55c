import type { DaemonStatus } from "../../server/global/schema.ts";
import { type Machine, machineOf } from "../hosts/machine.ts";
import type { Io } from "../io.ts";
import { type Place, placeOf } from "../place.ts";
import { findRoot } from "../project.ts";
import { askDaemon } from "../service/take_over.ts";
import type { Finding } from "./schema.ts";

/** What the checks look at; nothing of it is started or changed by them. */
export interface Patient {
  io: Io;
  place: Place;
  machine: Machine;
  /** The daemon's word on itself; null when none answers. */
  daemon: DaemonStatus | null;
  /** Why a daemon that runs would not speak to us. */
  refusal: string | null;
  /** The folders of every project that is known, this one's first. */
  roots: string[];
  now: number;
}

export async function examine(io: Io): Promise<Patient> {
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

/** The findings of one check, each said in a line. */
export class Findings {
  readonly list: Finding[] = [];
  readonly #check: string;

  constructor(check: string) {
    this.#check = check;
  }

  ok(message: string): void {
    this.#add("ok", message, null);
  }

  warn(message: string, fix: string | null = null): void {
    this.#add("warning", message, fix);
  }

  fail(message: string, fix: string | null = null): void {
    this.#add("problem", message, fix);
  }

  /** One line for many things of a kind: the first ones by name, the others by number. */
  warnAll(things: readonly string[], what: string, fix: string): void {
    if (things.length === 0) return;
    const shown = things.slice(0, MOST_NAMED).join(", ");
    const more = things.length > MOST_NAMED ? ` and ${things.length - MOST_NAMED} more` : "";
    this.warn(`${what}: ${shown}${more}`, fix);
  }

  #add(level: Finding["level"], message: string, fix: string | null): void {
    this.list.push({ check: this.#check, level, message, fix });
  }
}

const MOST_NAMED = 5;
