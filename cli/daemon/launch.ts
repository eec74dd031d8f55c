import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { openHome } from "../../server/runtime/home.ts";
import { selfCommand } from "../../server/runtime/self.ts";
import { CliError } from "../errors.ts";
import type { Io } from "../io.ts";
import { type Place, readDaemonFile } from "../place.ts";
import { releaseTurn, takeTurn } from "./turn.ts";

export interface Launching<T> {
  place: Place;
  around: Pick<Io, "env" | "pid">;
  /** Answers as soon as a daemon of this version or a newer one can be reached. */
  find: () => Promise<T | null>;
  /** Ends an older daemon; nobody else starts one meanwhile. */
  clear: () => Promise<unknown>;
  /** Further arguments of `gate daemon run`. */
  args: string[];
}

const DEADLINE_MS = 30_000;
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 200;

/**
 * Starts a daemon that outlives this process and waits until it answers. Of many callers at once
 * one starts it and the others wait for it. @throws CliError with what the daemon said
 */
export async function launchDaemon<T>(launching: Launching<T>): Promise<T> {
  const { place, around, find, clear } = launching;
  openHome(place.home);
  const deadline = Date.now() + DEADLINE_MS;
  let child: Child | null = null;
  let hasTurn = false;
  try {
    for (let pause = FIRST_PAUSE_MS; Date.now() < deadline; pause *= 1.3) {
      const found = await find();
      if (found) return found;
      if (child?.failure()) break;
      if (!child && takeTurn(place.home, around.pid)) {
        hasTurn = true;
        await clear();
        child = startChild(launching);
      }
      await rest(Math.min(pause, LONGEST_PAUSE_MS));
    }
    throw notStarted(place, child?.failure() ?? null);
  } finally {
    if (hasTurn) releaseTurn(place.home);
    child?.forget();
  }
}

function rest(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

interface Child {
  /** What the process said before it ended badly; null while it runs or if it ended well. */
  failure(): string | null;
  forget(): void;
}

function startChild({ place, around, args }: Launching<unknown>): Child {
  const self = selfCommand();
  const output = join(place.home, "logs", `start-${around.pid}.txt`);
  rmSync(output, { force: true });
  const fd = openSync(output, "wx", 0o600);
  let ended: number | null = null;
  const child = spawn(self.command, [...self.args, "daemon", "run", ...args], {
    detached: true,
    cwd: place.home,
    env: { ...around.env, GATE_HOME: place.home } as NodeJS.ProcessEnv,
    stdio: ["ignore", fd, fd],
  });
  child.on("error", () => ended = -1);
  child.on("exit", (code) => ended = code ?? -1);
  child.unref();
  closeSync(fd);
  return {
    failure: () => ended ? readFileSync(output, "utf8").trim() || silence(place.home) : null,
    forget: () => rmSync(output, { force: true }),
  };
}

const LITTLE_ROOM = 64 * 1024 * 1024;

/** On a full disk not even its last words can be kept. */
function silence(home: string): string {
  const { bavail, bsize } = statfsSync(home);
  if (bavail * bsize > LITTLE_ROOM) {
    return "it said nothing\n  try: gate daemon start --foreground";
  }
  const free = Math.floor(bavail * bsize / 1024);
  return `only ${free} KiB are free on the disk of "${home}"; make room and try again`;
}

function notStarted(place: Place, failure: string | null): CliError {
  if (failure) {
    return new CliError(`Cannot start the daemon: ${failure.replace(/^gate: /, "")}`);
  }
  const pid = readDaemonFile(place.home)?.pid;
  const which = pid ? ` (last known pid ${pid})` : "";
  return new CliError(
    `Cannot start the daemon: it did not answer within ${DEADLINE_MS / 1000} s${which}`,
    { next: "gate daemon logs" },
  );
}
