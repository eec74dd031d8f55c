import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import type { ProcessTable } from "./processes.ts";

/** Linux: `/proc` alone, no program needed. */
export const LINUX: ProcessTable = { startTime, command, listener };

function startTime(pid: number): string | null {
  const stat = readText(`/proc/${pid}/stat`);
  if (!stat) return null;
  // The name in parentheses may hold blanks and parentheses itself: count from its end.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (fields[0] === "Z" || fields[0] === "X") return null;
  const boot = readText("/proc/sys/kernel/random/boot_id")?.trim() ?? "";
  return `${boot}:${fields[19]}`;
}

function listener(port: number): number | null {
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

function command(pid: number): string | null {
  const raw = readText(`/proc/${pid}/cmdline`)?.replaceAll("\0", " ").trim();
  return raw || readText(`/proc/${pid}/comm`)?.trim() || null;
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
