import type { Io } from "../io.ts";
import { paint, print } from "../terminal/output.ts";
import { placeOf } from "../place.ts";
import { visibleJson, visibleLine } from "../terminal/visible.ts";
import { LogFollower } from "./follow_log.ts";
import { logPath, rotatedPath } from "./log_file.ts";

export interface ShowLogOptions {
  lines: number;
  follow?: boolean;
  json?: boolean;
}

const POLL_MS = 150;

/** Prints the end of the daemon's log, and with `follow` what comes after until a signal. */
export async function showLog(io: Io, options: ShowLogOptions): Promise<void> {
  const path = logPath(placeOf(io).home);
  const show = (lines: string[]) => lines.forEach((line) => print(io, format(io, line, options)));
  const follower = new LogFollower(path);
  const recent = follower.read();
  const older = recent.length < options.lines ? readAll(rotatedPath(path, 1)) : [];
  show(options.lines === 0 ? [] : [...older, ...recent].slice(-options.lines));
  if (options.follow) await follow(io, () => show(follower.read()));
  else if (recent.length === 0) print(io, "The log is empty: the daemon has not run yet.");
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
