import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import type { Io } from "../io.ts";
import { paint, print } from "../terminal/output.ts";
import { placeOf } from "../place.ts";
import { visibleJson, visibleLine } from "../terminal/visible.ts";
import { logPath, rotatedPath } from "./log_file.ts";

export interface ShowLogOptions {
  lines: number;
  follow?: boolean;
  json?: boolean;
}

const POLL_MS = 150;

/** Prints the end of the daemon's log; with `follow` also new lines, until a signal. */
export async function showLog(io: Io, options: ShowLogOptions): Promise<void> {
  const path = logPath(placeOf(io).home);
  const show = (lines: string[]) => lines.forEach((line) => print(io, format(io, line, options)));
  const follower = new LogFollower(path);
  const recent = follower.read();
  const older = recent.length < options.lines ? readAll(rotatedPath(path, 1)) : [];
  show(options.lines === 0 ? [] : [...older, ...recent].slice(-options.lines));
  if (options.follow) await follow(io, () => show(follower.read()));
  else if (recent.length === 0) {
    print(io, "The log is empty: the daemon has never run. Start it: gate daemon start");
  }
  follower.close();
}

function follow(io: Io, next: () => void): Promise<void> {
  return new Promise((resolve) => {
    const timer = setInterval(next, POLL_MS);
    const forget = io.onSignal(() => {
      clearInterval(timer);
      forget();
      resolve();
    });
  });
}

function readAll(path: string): string[] {
  const follower = new LogFollower(path);
  const lines = follower.read();
  follower.close();
  return lines;
}

function format(io: Io, line: string, { json }: ShowLogOptions): string {
  try {
    if (json || !io.stdout.isTTY) return visibleJson(JSON.parse(line), 0);
    const { at, level, message, ...fields } = JSON.parse(line) as Record<string, unknown>;
    const style = level === "error" ? "red" : level === "warn" ? "yellow" : "dim";
    const rest = Object.entries(fields).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
    return visibleLine([at, level, message, ...rest].join(" ")).replace(
      String(level),
      paint(io, style, String(level)),
    );
  } catch {
    return visibleLine(line);
  }
}

const CHUNK = 64 * 1024;
const MOST_FILES = 5;

/** Reads the new lines of a growing log; follows its rotations without losing a line. */
export class LogFollower {
  readonly #path: string;
  #fd: number | null = null;
  #rest = "";
  #decoder = new TextDecoder();

  constructor(path: string) {
    this.#path = path;
  }

  /** The complete lines written since the last call. */
  read(): string[] {
    const lines: string[] = [];
    this.#fd ??= open(this.#path);
    if (this.#fd === null) return lines;
    this.#drain(lines);
    // Files rotated since the last call are read from the oldest to the newest.
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
