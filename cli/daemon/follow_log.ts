import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import { rotatedPath } from "./log_file.ts";

const CHUNK = 64 * 1024;
const MOST_FILES = 5;

/** Reads a log on as it grows, and over its rotations without losing a line. */
export class LogFollower {
  readonly #path: string;
  #fd: number | null = null;
  #rest = "";
  #decoder = new TextDecoder();

  constructor(path: string) {
    this.#path = path;
  }

  /** The whole lines written since the last call. */
  read(): string[] {
    const lines: string[] = [];
    this.#fd ??= open(this.#path);
    if (this.#fd === null) return lines;
    this.#drain(lines);
    // What was moved aside after the file in hand is read in the order it was written.
    for (const path of this.#newerFiles()) {
      const next = open(path);
      if (next === null) continue;
      closeSync(this.#fd);
      this.#fd = next;
      this.#drain(lines);
    }
    return lines;
  }

  close(): void {
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
  }

  #newerFiles(): string[] {
    const inode = fstatSync(this.#fd!).ino;
    const newer: string[] = [];
    for (let number = 0; number < MOST_FILES; number++) {
      const path = number === 0 ? this.#path : rotatedPath(this.#path, number);
      const found = statSync(path, { throwIfNoEntry: false });
      if (!found || found.ino === inode) break;
      newer.unshift(path);
    }
    return newer;
  }

  #drain(lines: string[]): void {
    const buffer = new Uint8Array(CHUNK);
    for (let size = readSync(this.#fd!, buffer); size > 0; size = readSync(this.#fd!, buffer)) {
      this.#rest += this.#decoder.decode(buffer.subarray(0, size), { stream: true });
      const whole = this.#rest.split("\n");
      this.#rest = whole.pop()!;
      lines.push(...whole);
    }
  }
}

function open(path: string): number | null {
  try {
    return openSync(path, "r");
  } catch {
    return null;
  }
}
