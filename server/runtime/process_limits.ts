import { readdirSync, readFileSync } from "node:fs";
import { membersOf } from "./processes.ts";

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

/** After this time each process is looked at, whatever the machine's totals say. */
const AT_MOST_MS = 1_000;

/**
 * Looks at this process and all below it, as often as it is asked. With `has_group` it also looks at
 * those of its group, because without a namespace a process loses its parent when that ends. A look at
 * each process costs about a hundred times as much as one at the machine's totals, so a look ends at
 * these if they leave no room for a breach. Reads `/proc`, so it knows only Linux.
 */
export class UsageWatch {
  readonly #pid: number;
  readonly #has_group: boolean;
  readonly #limits: ProcessLimits;
  readonly #totals: () => Totals;
  readonly #now: () => number;
  #tasks: number;
  #looked_at: number;
  #is_near = false;

  constructor(
    pid: number,
    limits: ProcessLimits,
    { totals = totalsOfMachine, now = () => performance.now(), has_group = false } = {},
  ) {
    this.#pid = pid;
    this.#has_group = has_group;
    this.#limits = limits;
    this.#totals = totals;
    this.#now = now;
    this.#tasks = totals().tasks;
    this.#looked_at = now();
  }

  look(): Usage {
    const { tasks, memory_bytes } = this.#totals();
    const grown = tasks - this.#tasks;
    const isCalm = !this.#is_near && grown < this.#limits.processes * NEAR &&
      memory_bytes <= this.#limits.memory_bytes && this.#now() - this.#looked_at < AT_MOST_MS;
    if (isCalm) return { breach: null, isNear: false };
    const group = this.#has_group ? membersOf(this.#pid) : [];
    const usage = usageOf([this.#pid, ...group], this.#limits);
    this.#tasks = tasks;
    this.#looked_at = this.#now();
    this.#is_near = usage.isNear;
    return usage;
  }
}

/** Upper bounds for the processes of a command and for their memory. */
export interface Totals {
  tasks: number;
  memory_bytes: number;
}

/** All threads of the machine and the memory of its programs; infinite where the kernel does not tell. */
export function totalsOfMachine(): Totals {
  const told = read("/proc/meminfo");
  const bytes = (name: string) =>
    Number(new RegExp(`^${name}: +(\\d+) kB$`, "m").exec(told)?.[1] ?? Infinity) * 1024;
  return {
    tasks: Number(/\/(\d+) /.exec(read("/proc/loadavg"))?.[1] ?? 0) || Infinity,
    memory_bytes: bytes("AnonPages") + bytes("Mapped"),
  };
}

function usageOf(roots: readonly number[], { processes, memory_bytes }: ProcessLimits): Usage {
  const all = new Set(roots);
  for (const one of all) {
    for (const child of childrenOf(one)) all.add(child);
    if (all.size > processes) {
      return { breach: `It used more than ${processes} processes`, isNear: true };
    }
  }
  const isNear = all.size > processes * NEAR;
  const found = [...all].map(withMemory);
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

/** A thread that shows the memory of the process. The first thread shows none when it has ended. */
function withMemory(pid: number): number {
  if (residentOf(pid) > 0) return pid;
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number).find((one) => residentOf(one) > 0) ?? pid;
  } catch {
    return pid; // it has ended
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
