import { arch, platform } from "node:os";
import { LIBRARIES } from "./quick_calls.ts";

/** An argument of a system call: a number, or memory that the kernel reads or writes. */
export type Argument = number | bigint | Uint8Array;

/** System calls of the kernel, made by the thread that calls. */
export interface SystemCalls {
  numbers: CallNumbers;
  /** Returns what the call returns, -1 if it fails. */
  call(number: number, ...given: Argument[]): number;
  /** Whether `node:fs` takes a file descriptor that a call has opened: Deno keeps a table of its own. */
  shares_descriptors: boolean;
  /** The address of this memory, which must stay in use while the kernel reads it. */
  addressOf(memory: Uint8Array): bigint;
}

/** The numbers of the calls that gate makes, for one architecture. */
export interface CallNumbers {
  read: number;
  openat: number;
  ioctl: number;
  pread64: number;
  poll: number;
  wait4: number;
  prctl: number;
  capset: number;
  execve: number;
  fchmod: number;
  rt_sigaction: number;
  rt_sigprocmask: number;
  seccomp: number;
  utimensat: number;
  madvise: number;
  linkat: number;
}

/** Numbers that are the same on every architecture. */
export const COMMON_CALLS = {
  pidfd_open: 434,
  close_range: 436,
  openat2: 437,
  pidfd_getfd: 438,
  landlock_create_ruleset: 444,
  landlock_add_rule: 445,
  landlock_restrict_self: 446,
  fchmodat2: 452,
} as const;

const NUMBERS: Record<string, CallNumbers> = {
  x64: {
    read: 0,
    openat: 257,
    ioctl: 16,
    pread64: 17,
    poll: 271,
    wait4: 61,
    prctl: 157,
    capset: 126,
    execve: 59,
    fchmod: 91,
    rt_sigaction: 13,
    rt_sigprocmask: 14,
    seccomp: 317,
    utimensat: 280,
    madvise: 28,
    linkat: 265,
  },
  arm64: {
    read: 63,
    openat: 56,
    ioctl: 29,
    pread64: 67,
    poll: 73,
    wait4: 260,
    prctl: 167,
    capset: 91,
    execve: 221,
    fchmod: 52,
    rt_sigaction: 134,
    rt_sigprocmask: 135,
    seccomp: 277,
    utimensat: 88,
    madvise: 233,
    linkat: 37,
  },
};

const MOST_ARGUMENTS = 6;

/**
 * The kernel's system calls; null where this runtime cannot make them. Node cannot: it has no way to
 * call a function of a library.
 */
export async function openSystemCalls(): Promise<SystemCalls | null> {
  const numbers = platform() === "linux" ? NUMBERS[arch()] : undefined;
  if (!numbers) return null;
  for (const library of LIBRARIES) {
    try {
      const opened = "Deno" in globalThis
        ? openByDeno(library)
        : "Bun" in globalThis
        ? await openByBun(library)
        : null;
      return opened && { numbers, ...opened };
    } catch {
      // The system has another library.
    }
  }
  return null;
}

let ready: SystemCalls | null = null;
let opening: Promise<void> | null = null;

/** The same, for callers that cannot wait: null until they are open. The first call begins to open them. */
export function readySystemCalls(): SystemCalls | null {
  opening ??= openSystemCalls().then((opened) => {
    ready = opened;
  });
  return ready;
}

type Opened = Omit<SystemCalls, "numbers">;

const SEVEN = Array.from({ length: MOST_ARGUMENTS + 1 }, () => "i64" as const);

interface DenoFfi {
  dlopen(library: string, symbols: unknown): {
    symbols: { syscall: (...given: bigint[]) => bigint };
  };
  UnsafePointer: {
    of(memory: Uint8Array): object | null;
    value(pointer: object | null): bigint | number;
  };
}

function openByDeno(library: string): Opened {
  const { dlopen, UnsafePointer } = (globalThis as unknown as { Deno: DenoFfi }).Deno;
  const { syscall } = dlopen(library, { syscall: { parameters: SEVEN, result: "i64" } }).symbols;
  const addressOf = (memory: Uint8Array) => BigInt(UnsafePointer.value(UnsafePointer.of(memory)));
  return { ...callsOf(syscall, addressOf), shares_descriptors: false };
}

interface BunFfi {
  dlopen(library: string, symbols: unknown): {
    symbols: { syscall: (...given: bigint[]) => bigint | number };
  };
  ptr(memory: Uint8Array): number;
}

async function openByBun(library: string): Promise<Opened> {
  // Other runtimes look for such an import before they run.
  const name = "bun:ffi";
  const { dlopen, ptr } = await import(name) as BunFfi;
  const { syscall } = dlopen(library, { syscall: { args: SEVEN, returns: "i64" } }).symbols;
  return { ...callsOf(syscall, (memory) => BigInt(ptr(memory))), shares_descriptors: true };
}

function callsOf(
  syscall: (...given: bigint[]) => bigint | number,
  addressOf: (memory: Uint8Array) => bigint,
): Pick<SystemCalls, "call" | "addressOf"> {
  const wordOf = (one: Argument) => one instanceof Uint8Array ? addressOf(one) : BigInt(one);
  return {
    addressOf,
    call: (number, ...given) => {
      const words = given.map(wordOf);
      while (words.length < MOST_ARGUMENTS) words.push(0n);
      return Number(syscall(BigInt(number), ...words));
    },
  };
}
