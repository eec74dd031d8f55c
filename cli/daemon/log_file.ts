import { closeSync, fstatSync, mkdirSync, openSync, renameSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Environment } from "../../server/environment.ts";

export interface LogLimits {
  /** The bytes of one file. */
  bytes: number;
  /** The number of files, the current one included. */
  files: number;
}

const LIMITS: LogLimits = { bytes: 10 * 1024 * 1024, files: 5 };

/** The path of the daemon's log. */
export function logPath(home: string): string {
  return join(home, "logs", "daemon.log");
}

/** The path of a rotated log; 1 is the newest. */
export function rotatedPath(path: string, number: number): string {
  return `${path}.${number}`;
}

/** A log of JSON lines with mode 0600, rotated when it is full; the oldest file is deleted. */
export class LogFile {
  readonly #path: string;
  readonly #limits: LogLimits;
  #fd: number;
  #size: number;

  constructor(path: string, limits: LogLimits = LIMITS) {
    this.#path = path;
    this.#limits = limits;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    this.#fd = openSync(path, "a", 0o600);
    this.#size = fstatSync(this.#fd).size;
  }

  /** Appends one line; never throws. */
  write(record: Record<string, unknown>): void {
    const line = Buffer.from(`${JSON.stringify(record)}\n`);
    try {
      if (this.#size > 0 && this.#size + line.length > this.#limits.bytes) this.#rotate();
      writeSync(this.#fd, line);
      this.#size += line.length;
    } catch {
      // The disk may be full: the daemon continues without its log.
    }
  }

  /** Opens the file again after another program has moved it. @throws if it cannot be opened */
  reopen(): void {
    // If this open fails, the old descriptor stays valid.
    const fd = openSync(this.#path, "a", 0o600);
    closeSync(this.#fd);
    this.#fd = fd;
    this.#size = fstatSync(fd).size;
  }

  close(): void {
    closeSync(this.#fd);
  }

  #rotate(): void {
    for (let number = this.#limits.files - 1; number >= 1; number--) {
      const from = number === 1 ? this.#path : rotatedPath(this.#path, number - 1);
      try {
        renameSync(from, rotatedPath(this.#path, number));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      }
    }
    this.reopen();
  }
}

/** A `log` function for an environment that writes to this file. */
export function createLog(file: LogFile, now: () => number): Environment["log"] {
  return (level, message, fields = {}) =>
    file.write({ at: new Date(now()).toISOString(), level, message, ...fields });
}
