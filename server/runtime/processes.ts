import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import process from "node:process";
import { systemProgram } from "./system_program.ts";

/** The id of this process. */
export const OWN_PID = process.pid;

/** A process that cannot be mistaken for a later one with the same pid. */
export interface ProcessIdentity {
  pid: number;
  /** Opaque; two processes with one pid have different ones. */
  start_time: string;
}

/** Reads the process table of one operating system; each function returns null when it finds nothing. */
export interface ProcessTable {
  startTime(pid: number): string | null;
  command(pid: number): string | null;
  /** The process that listens on this loopback port. */
  listener(port: number): number | null;
  /** The processes of this group that have not ended. */
  members(group: number): number[];
}

/** The identity of a running process; null when no process has this pid. */
export function identify(pid: number): ProcessIdentity | null {
  const start_time = Number.isInteger(pid) && pid > 0 ? table.startTime(pid) : null;
  return start_time ? { pid, start_time } : null;
}

/** True while this very process runs. */
export function isSameProcess(identity: ProcessIdentity): boolean {
  return identify(identity.pid)?.start_time === identity.start_time;
}

/**
 * Signals a process after checking its identity; returns false when it has ended. The pid could be
 * reused between check and signal, but only after all other pids were used.
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

/** The process that listens on a loopback port; null when this user may not see it. */
export function findListener(port: number): { pid: number; command: string } | null {
  const pid = table.listener(port);
  return pid === null ? null : { pid, command: commandOf(pid) };
}

/** A process of this group that has not ended; null if there is none. */
export function memberOf(
  group: number,
  processes: Pick<ProcessTable, "members" | "startTime"> = table,
): ProcessIdentity | null {
  try {
    process.kill(-group, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return null;
  }
  // One that ends during the look has no identity, while others go on.
  for (const pid of processes.members(group)) {
    const start_time = processes.startTime(pid);
    if (start_time !== null) return { pid, start_time };
  }
  return null;
}

/** The processes of this group that have not ended. */
export function membersOf(group: number): number[] {
  return table.members(group);
}

/** The command line of a process, or "unknown". */
export function commandOf(pid: number): string {
  return table.command(pid) ?? "unknown";
}

/** Linux: `/proc` alone, no program needed. */
const LINUX: ProcessTable = {
  startTime(pid) {
    const fields = statOf(pid);
    if (fields === null || hasEnded(fields)) return null;
    const boot = attempt(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8"));
    return `${boot?.trim() ?? ""}:${fields[19]}`;
  },
  command(pid) {
    const raw = attempt(() => readFileSync(`/proc/${pid}/cmdline`, "utf8"));
    return raw?.replaceAll("\0", " ").trim() ||
      attempt(() => readFileSync(`/proc/${pid}/comm`, "utf8"))?.trim() || null;
  },
  listener(port) {
    const inodes = new Set(
      ["/proc/net/tcp", "/proc/net/tcp6"].flatMap((file) => listeningInodes(file, port)),
    );
    if (inodes.size === 0) return null;
    for (const pid of listNames("/proc").filter((name) => /^\d+$/.test(name))) {
      for (const fd of listNames(`/proc/${pid}/fd`)) {
        const target = attempt(() => readlinkSync(`/proc/${pid}/fd/${fd}`)) ?? "";
        const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1];
        if (inode && inodes.has(inode)) return Number(pid);
      }
    }
    return null;
  },
  members(group) {
    const pids = listNames("/proc").filter((name) => /^\d+$/.test(name)).map(Number);
    return pids.filter((pid) => {
      const fields = statOf(pid);
      return fields !== null && Number(fields[2]) === group && !hasEnded(fields);
    });
  },
};

/** The fields of a process from its state on. */
function statOf(pid: number): string[] | null {
  const stat = attempt(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
  // The name in parentheses may contain blanks and parentheses, so fields count from its end.
  return stat ? stat.slice(stat.lastIndexOf(")") + 2).split(" ") : null;
}

/** A process whose first thread has ended looks like one that has, while its other threads go on. */
function hasEnded({ 0: state, 17: threads }: string[]): boolean {
  return state === "X" || (state === "Z" && Number(threads) <= 1);
}

const LISTEN = "0A";

function listeningInodes(file: string, port: number): string[] {
  const wanted = port.toString(16).toUpperCase().padStart(4, "0");
  return (attempt(() => readFileSync(file, "utf8")) ?? "").split("\n").slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[1]?.endsWith(`:${wanted}`) && fields[3] === LISTEN)
    .map((fields) => fields[9] ?? "");
}

function listNames(path: string): string[] {
  return attempt(() => readdirSync(path)) ?? [];
}

/** The value, or null when reading fails: processes end while they are looked at. */
function attempt<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}

/** macOS and other Unixes: `ps` and `lsof`. */
export const POSIX: ProcessTable = {
  startTime: (pid) => ps(pid, "lstart="),
  command: (pid) => ps(pid, "command="),
  listener(port) {
    const text = runProgram("lsof", ["-nP", `-iTCP:${port}`, "-sTCP:LISTEN", "-Fp"]);
    const pid = /^p(\d+)$/m.exec(text ?? "")?.[1];
    return pid ? Number(pid) : null;
  },
  members(group) {
    const lines = runProgram("ps", ["-axo", "pid=,pgid=,stat="])?.split("\n") ?? [];
    return lines.map((line) => line.trim().split(/\s+/))
      .filter(([, of, state]) => Number(of) === group && !state?.startsWith("Z"))
      .map(([pid]) => Number(pid));
  },
};

function ps(pid: number, field: string): string | null {
  return runProgram("ps", ["-o", field, "-p", String(pid)])?.trim() || null;
}

/** Windows: PowerShell and `netstat`. */
const WINDOWS: ProcessTable = {
  startTime: (pid) => powershell(`(Get-Process -Id ${pid}).StartTime.ToFileTimeUtc()`),
  command: (pid) =>
    powershell(`(Get-CimInstance Win32_Process -Filter "ProcessId=${pid}").CommandLine`),
  members: () => [],
  listener: (port) => readListener(runProgram("netstat", ["-ano", "-p", "TCP"]) ?? "", port),
};

/** The listening process in the output of `netstat -ano`, whose words depend on the language. */
export function readListener(text: string, port: number): number | null {
  for (const line of text.split(/\r?\n/)) {
    const [protocol, local, foreign, ...rest] = line.trim().split(/\s+/);
    const listens = foreign === "0.0.0.0:0" || foreign === "[::]:0";
    if (protocol === "TCP" && listens && local?.endsWith(`:${port}`)) return Number(rest.at(-1));
  }
  return null;
}

function powershell(script: string): string | null {
  const args = ["-NoProfile", "-NonInteractive", "-Command", script];
  return runProgram("powershell", args)?.trim() || null;
}

/**
 * The output of a system program, or null when it fails. Language and time zone are fixed, so that
 * two gate processes read the same text.
 */
function runProgram(command: string, args: string[]): string | null {
  const program = systemProgram(command);
  if (program === null) return null;
  return attempt(() =>
    execFileSync(program, args, {
      encoding: "utf8",
      env: { ...process.env, LC_ALL: "C", TZ: "UTC" },
      stdio: ["ignore", "pipe", "ignore"],
      timeout: 10_000,
      windowsHide: true,
    })
  );
}

const TABLES: Partial<Record<typeof process.platform, ProcessTable>> = {
  linux: LINUX,
  win32: WINDOWS,
};
const table = TABLES[process.platform] ?? POSIX;
