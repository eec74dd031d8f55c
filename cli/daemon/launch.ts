import { spawn } from "node:child_process";
import {
  closeSync,
  openSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openHome } from "../../server/runtime/home.ts";
import { identify, isSameProcess, type ProcessIdentity } from "../../server/runtime/processes.ts";
import { selfCommand } from "../../server/runtime/self.ts";
import { ERRORS_AS_JSON, failureIn, type SelfFailure } from "../../server/runtime/self_failure.ts";
import { readSmallFile } from "../../server/runtime/small_file.ts";
import { CliError } from "../errors.ts";
import type { Io } from "../io.ts";
import { type Place, readDaemonFile } from "../place.ts";
import { DISK_THREADS } from "./disk_threads.ts";

export interface Launching<T> {
  place: Place;
  around: Pick<Io, "env" | "pid">;
  /** Finds a daemon of this version or a newer one; null if none answers yet. */
  find: () => Promise<T | null>;
  /** Stops an older daemon. It runs while no other process may start one. */
  clear: () => Promise<unknown>;
  /** More arguments for `gate daemon run`. */
  args: string[];
}

const DEADLINE_MS = 30_000;
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 200;

/**
 * Starts a daemon in the background and waits until it answers. If several processes call this at
 * once, one of them starts the daemon. @throws CliError with the daemon's own message
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
        await prepareLibrary(place.home);
        child = startChild(launching);
      }
      await sleep(Math.min(pause, LONGEST_PAUSE_MS));
    }
    throw notStarted(place, child?.failure() ?? null);
  } finally {
    if (hasTurn) releaseTurn(place.home);
    child?.forget();
  }
}

async function prepareLibrary(home: string): Promise<void> {
  const { prepareNativeLibrary } = await import("../../server/runtime/native.ts");
  try {
    prepareNativeLibrary(home);
  } catch {
    // The daemon meets the same fault and names it.
  }
}

interface Child {
  /** Why the process failed; null while it runs or if it ended with 0. */
  failure(): SelfFailure | null;
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
    env: {
      ...DISK_THREADS,
      ...around.env,
      ...ERRORS_AS_JSON,
      GATE_HOME: place.home,
    } as NodeJS.ProcessEnv,
    stdio: ["ignore", fd, fd],
  });
  child.on("error", () => ended = -1);
  child.on("exit", (code) => ended = code ?? -1);
  child.unref();
  closeSync(fd);
  return {
    failure: () =>
      ended ? failureIn(readFileSync(output, "utf8")) ?? causeOfSilence(place.home) : null,
    forget: () => rmSync(output, { force: true }),
  };
}

const LITTLE_SPACE = 64 * 1024 * 1024;

/** The cause of a failure without output: a full disk cannot keep the output. */
function causeOfSilence(home: string): SelfFailure {
  const { bavail, bsize } = statfsSync(home);
  if (bavail * bsize > LITTLE_SPACE) {
    return { message: "it ended without a message", next: "gate daemon start --foreground" };
  }
  const free = Math.floor(bavail * bsize / 1024);
  const message = `only ${free} KiB are free on the disk of "${home}"; make room and try again`;
  return { message, next: null };
}

function notStarted(place: Place, failure: SelfFailure | null): CliError {
  if (failure) {
    const { message, next } = failure;
    const why = message.replace(/^Cannot /, "it cannot ");
    return new CliError(`Cannot start the daemon: ${why}`, { ...next !== null && { next } });
  }
  const pid = readDaemonFile(place.home)?.pid;
  const which = pid ? ` (last known pid ${pid})` : "";
  return new CliError(
    `Cannot start the daemon: it did not answer within ${DEADLINE_MS / 1000} s${which}`,
    { next: "gate daemon logs" },
  );
}

const MAX_BYTES = 4 * 1024;

/**
 * Takes the turn to start the daemon; false while another live process has it. This only avoids
 * unneeded processes: the daemon's own lock ensures that a home has one daemon.
 */
function takeTurn(home: string, pid: number): boolean {
  const path = turnPath(home);
  const me = JSON.stringify(identify(pid) ?? { pid, start_time: "" });
  try {
    writeFileSync(path, me, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    if (!isHeld(path)) rmSync(path, { force: true });
    return false;
  }
}

function releaseTurn(home: string): void {
  rmSync(turnPath(home), { force: true });
}

function isHeld(path: string): boolean {
  try {
    return isSameProcess(JSON.parse(readSmallFile(path, MAX_BYTES)) as ProcessIdentity);
  } catch (error) {
    // The file is new and its writer has not written to it yet.
    return error instanceof SyntaxError && Date.now() - statSync(path).mtimeMs < 2_000;
  }
}

function turnPath(home: string): string {
  return join(home, "run", "starting.json");
}
