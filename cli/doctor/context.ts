import type { DaemonStatus } from "../../server/global/schema.ts";
import { type Machine, machineOf } from "../hosts/machine.ts";
import type { Io } from "../io.ts";
import { type Place, placeOf } from "../place.ts";
import { findRoot } from "../project.ts";
import { askDaemon } from "../service/take_over.ts";

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

/** Asks the daemon and the disk for everything that the checks read. */
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
