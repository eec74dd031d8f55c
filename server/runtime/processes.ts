import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import process from "node:process";

/** A process that cannot be mistaken for a later one with the same pid. */
export interface ProcessIdentity {
  pid: number;
  /** Opaque; two processes with one pid have different ones. */
  start_time: string;
}

/** Who that pid is now; null when there is no such process. */
export function identify(pid: number): ProcessIdentity | null {
  const start_time = process.platform === "linux" ? linuxStart(pid) : psField(pid, "lstart=");
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
  const pid = process.platform === "linux" ? linuxListener(port) : lsofListener(port);
  return pid === null ? null : { pid, command: commandOf(pid) };
}

/** The command line of a process, or "unknown". */
export function commandOf(pid: number): string {
  if (process.platform !== "linux") return psField(pid, "command=") ?? "unknown";
  const raw = readText(`/proc/${pid}/cmdline`)?.replaceAll("\0", " ").trim();
  return raw || readText(`/proc/${pid}/comm`)?.trim() || "unknown";
}

function linuxStart(pid: number): string | null {
  const stat = readText(`/proc/${pid}/stat`);
  if (!stat) return null;
  // The name in parentheses may hold blanks and parentheses itself: count from its end.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (fields[0] === "Z" || fields[0] === "X") return null;
  const boot = readText("/proc/sys/kernel/random/boot_id")?.trim() ?? "";
  return `${boot}:${fields[19]}`;
}

function linuxListener(port: number): number | null {
  const inodes = new Set([
    ...listeningInodes("/proc/net/tcp", port),
    ...listeningInodes("/proc/net/tcp6", port),
  ]);
  if (inodes.size === 0) return null;
  for (const pid of listNames("/proc").filter((name) => /^\d+$/.test(name))) {
    for (const fd of listNames(`/proc/${pid}/fd`)) {
      const inode = /^socket:\[(\d+)\]$/.exec(readLink(`/proc/${pid}/fd/${fd}`) ?? "")?.[1];
      if (inode && inodes.has(inode)) return Number(pid);
    }
  }
  return null;
}

const LISTEN = "0A";

function listeningInodes(file: string, port: number): string[] {
  const wanted = port.toString(16).toUpperCase().padStart(4, "0");
  return (readText(file) ?? "").split("\n").slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[1]?.endsWith(`:${wanted}`) && fields[3] === LISTEN)
    .map((fields) => fields[9] ?? "");
}

function lsofListener(port: number): number | null {
  const text = runQuietly("lsof", ["-nP", `-iTCP:${port}`, "-sTCP:LISTEN", "-Fp"]);
  const pid = /^p(\d+)$/m.exec(text ?? "")?.[1];
  return pid ? Number(pid) : null;
}

function psField(pid: number, field: string): string | null {
  return runQuietly("ps", ["-o", field, "-p", String(pid)])?.trim() || null;
}

function runQuietly(command: string, args: string[]): string | null {
  try {
    return execFileSync(command, args, {
      encoding: "utf8",
      timeout: 5_000,
      stdio: ["ignore", "pipe", "ignore"],
    });
  } catch {
    return null;
  }
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

function readLink(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

function listNames(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
