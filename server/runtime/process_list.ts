import process from "node:process";

/** One running process. A field that this system does not tell is null. */
export interface RunningProcess {
  pid: number;
  ppid: number;
  uid: number | null;
  /** Opaque: two processes with one pid have different ones; the same text as `identify()` gives. */
  start_time: string;
  /** Milliseconds since 1970. */
  started_at: number | null;
  argv: string[];
  memory_bytes: number | null;
}

/** A TCP port on which a process listens. */
export interface ListeningPort {
  pid: number;
  port: number;
  address: string;
  family: 4 | 6;
}

/** Reads the processes of this machine without blocking. Nothing here throws: processes end meanwhile. */
export interface ProcessList {
  /**
   * Every running process. What is known of one that runs for a while and still has its parent may be
   * `tolerated_ms` old, without it nothing is.
   */
  all(tolerated_ms?: number): Promise<RunningProcess[]>;
  /** The working folder of each process that this user may look at. */
  foldersOf(pids: readonly number[]): Promise<Map<number, string>>;
  /** The variables with these names in the environment that a process began with. */
  variablesOf(pid: number, names: ReadonlySet<string>): Promise<Record<string, string>>;
  /** Every listening port of a process that this user may look at. */
  listening(): Promise<ListeningPort[]>;
  /** The ids of the lock files that some process holds, as `device:inode`; null if unknown. */
  lockedFiles(): Promise<Set<string> | null>;
  /** Names this start of the machine and this namespace of process ids. */
  readonly machine: { boot_id: string; pid_namespace: string | null };
}

/** The id of the user that runs this process; null on Windows. */
export function ownUid(): number | null {
  return process.getuid?.() ?? null;
}

/** Signals one process, never a group. `gone` when it has ended, `refused` when it is another user's. */
export function sendSignal(
  pid: number,
  signal: "SIGTERM" | "SIGKILL",
): "sent" | "gone" | "refused" {
  // Smaller numbers mean groups, and process 1 is the system.
  if (!Number.isInteger(pid) || pid <= 1 || pid === process.pid) return "refused";
  try {
    process.kill(pid, signal);
    return "sent";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH" ? "gone" : "refused";
  }
}
