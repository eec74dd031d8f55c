import { readdirSync, readFileSync } from "node:fs";

/** Bounds of all processes of one command together. */
export interface ProcessLimits {
  processes: number;
  memory_bytes: number;
}

const PAGE_BYTES = 4_096;

/** The findings of one look at the processes of a command. */
export interface Usage {
  /** Why they must be stopped; null while they keep the limits. */
  breach: string | null;
  /** Whether they are so many that the next look must come soon. */
  isNear: boolean;
}

/** Looks at this process and all below it. Reads `/proc`, so it knows only Linux. */
export function usageOf(pid: number, { processes, memory_bytes }: ProcessLimits): Usage {
  const found = [pid];
  for (const one of found) {
    found.push(...childrenOf(one));
    if (found.length > processes) {
      return { breach: `It used more than ${processes} processes`, isNear: true };
    }
  }
  const isNear = found.length > processes * NEAR;
  // Shared pages count several times, so the exact number is read only when it may matter.
  if (sum(found, residentOf) <= memory_bytes || sum(found, ownMemoryOf) <= memory_bytes) {
    return { breach: null, isNear };
  }
  const mebibytes = Math.floor(memory_bytes / 1024 ** 2);
  return { breach: `It used more than ${mebibytes} MiB of memory`, isNear };
}

/** The part of the allowed processes that few builds use. */
const NEAR = 1 / 8;

function sum(pids: readonly number[], bytesOf: (pid: number) => number): number {
  return pids.reduce((total, pid) => total + bytesOf(pid), 0);
}

function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      read(`/proc/${pid}/task/${task}/children`).split(" ").filter((one) => one !== "").map(Number)
    );
  } catch {
    return []; // it has ended
  }
}

function residentOf(pid: number): number {
  return Number(read(`/proc/${pid}/statm`).split(" ")[1] ?? 0) * PAGE_BYTES;
}

/** The memory of the process with its part of what it shares. */
function ownMemoryOf(pid: number): number {
  return Number(/^Pss:\s+(\d+)/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0) * 1024;
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
