import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import type { Readable, Writable } from "node:stream";

/** An output stream that may be a terminal. */
export interface Terminal extends Writable {
  isTTY?: boolean;
  columns?: number;
  rows?: number;
}

export type Signal = "SIGINT" | "SIGTERM" | "SIGHUP";

/** Everything that a command takes from its process, so that tests can replace it. */
export interface Io {
  env: Record<string, string | undefined>;
  cwd: string;
  pid: number;
  stdin: Readable & { isTTY?: boolean; setRawMode?: (isRaw: boolean) => unknown };
  stdout: Terminal;
  stderr: Terminal;
  /** Takes the printed lines while a full screen is shown; without it they go to the streams. */
  note?: (line: string) => void;
  /** The milliseconds of a steady clock; that of the process without it. */
  clock?: () => number;
  /** Handles signals that would end the process, until the returned function is called. */
  onSignal: (handler: (signal: Signal) => void) => () => void;
  /** Does what Ctrl-C does: calls the handlers of SIGINT, or ends the process. */
  interrupt: () => void;
  /** Calls `handler` for an uncaught error; the process then ends with 1 (scenario tool: 3). */
  onFault: (handler: (error: unknown) => void) => void;
  /** Kills a process group with SIGKILL; does nothing if the group has ended. */
  killGroup: (pid: number) => void;
}

/** Whether a person can answer: input and output are terminals and this is not CI. */
export function isInteractive(io: Io): boolean {
  return io.stdin.isTTY === true && io.stdout.isTTY === true && !io.env.CI;
}

/** Creates the program with those commands loaded, for commands that describe the others. */
export type Tree = (isCalled: (name: string) => boolean) => Promise<CommandUnknownOpts>;
