import process from "node:process";
import { LINUX } from "./processes_linux.ts";
import { POSIX } from "./processes_posix.ts";
import { WINDOWS } from "./processes_windows.ts";

/** A process that cannot be mistaken for a later one with the same pid. */
export interface ProcessIdentity {
  pid: number;
  /** Opaque; two processes with one pid have different ones. */
  start_time: string;
}

/** How one operating system is asked about its processes; each answer is null where it is silent. */
export interface ProcessTable {
  startTime(pid: number): string | null;
  command(pid: number): string | null;
  /** The process that listens on this loopback port. */
  listener(port: number): number | null;
}

const TABLES: Partial<Record<typeof process.platform, ProcessTable>> = {
  linux: LINUX,
  win32: WINDOWS,
};
const table = TABLES[process.platform] ?? POSIX;

/** Who that pid is now; null when there is no such process. */
export function identify(pid: number): ProcessIdentity | null {
  const start_time = Number.isInteger(pid) && pid > 0 ? table.startTime(pid) : null;
  return start_time ? { pid, start_time } : null;
}

/** True while that very process lives. */
export function isSameProcess(identity: ProcessIdentity): boolean {
  return identify(identity.pid)?.start_time === identity.start_time;
}

/**
 * Signals a process after checking that it is still the same one; false when it has gone.
 * A reuse of the pid between check and signal stays possible; it would take a wrap of all pids.
 */
export function signalProcess(identity: ProcessIdentity, signal: "SIGTERM" | "SIGHUP"): boolean {
  if (identity.pid <= 1 || identity.pid === process.pid || !isSameProcess(identity)) return false;
  try {
    process.kill(identity.pid, signal);
    return true;
  } catch {
    return false;
  }
}

/** Who listens on a loopback port, as far as this user may know. */
export function findListener(port: number): { pid: number; command: string } | null {
  const pid = table.listener(port);
  return pid === null ? null : { pid, command: commandOf(pid) };
}

/** The command line of a process, or "unknown". */
export function commandOf(pid: number): string {
  return table.command(pid) ?? "unknown";
}
