import type { Readable, Writable } from "node:stream";

/** A stream that people may be looking at. */
export interface Terminal extends Writable {
  isTTY?: boolean;
  columns?: number;
}

export type Signal = "SIGINT" | "SIGTERM" | "SIGHUP";

/** Everything a command takes from outside itself, so that tests can hand in their own. */
export interface Io {
  env: Record<string, string | undefined>;
  cwd: string;
  pid: number;
  stdin: Readable & { isTTY?: boolean };
  stdout: Terminal;
  stderr: Terminal;
  /** Hears signals instead of dying of them, until the returned function is called. */
  onSignal: (handler: (signal: Signal) => void) => () => void;
  /** Hears of a fault that nothing caught; the process ends with code 1 (scenario tool: 3). */
  onFault: (handler: (error: unknown) => void) => void;
  /** Ends a whole process group at once; one that is gone already is no error. */
  killGroup: (pid: number) => void;
}

/** True when a person sits at both ends: only then may a command ask questions. */
export function isInteractive(io: Io): boolean {
  return io.stdin.isTTY === true && io.stdout.isTTY === true && !io.env.CI;
}
