import { existsSync } from "node:fs";
import { v7 } from "uuid";
import { VERSION } from "../../server/constants.ts";
import { JOURNAL_TAG } from "../../server/evidence/journal.ts";
import type { Environment } from "../../server/environment.ts";
import { engineOnce } from "../../server/sandbox/engine.ts";
import { openSystemJournal } from "../../server/runtime/system_journal.ts";
import type { Daemon } from "../../server/daemon.ts";
import { openHome } from "../../server/runtime/home.ts";
import { findListener } from "../../server/runtime/processes.ts";
import { PortTakenError } from "../../server/runtime/serve.ts";
import { type Gate, startGate } from "../../server/start.ts";
import { connect } from "./connect.ts";
import { CliError } from "../errors.ts";
import { traceOf } from "../../server/errors.ts";
import { findDaemon } from "./find.ts";
import type { Io, Signal } from "../io.ts";
import { print, say } from "../terminal/output.ts";
import { type Place, placeOf } from "../place.ts";
import { createLog, LogFile, logPath } from "./log_file.ts";
import { createLoginLink } from "./dashboard_link.ts";
import { visibleJson } from "../terminal/visible.ts";
import { registerWaiting } from "./waiting_roots.ts";

export interface ForegroundOptions {
  auth: "token" | "none";
  /** Whether another gate process started it in the background: nobody reads its output. */
  detached: boolean;
  /** Whether to write each line of the log to standard error as well. */
  print_log?: boolean;
}

/** Runs the daemon in this process until a signal; returns at once if a daemon already runs. */
export async function runDaemon(io: Io, options: ForegroundOptions): Promise<void> {
  const place = placeOf(io);
  openHome(place.home);
  const file = new LogFile(logPath(place.home));
  const writeLog = createLog(file, Date.now);
  const log: typeof writeLog = (level, message, fields) => {
    writeLog(level, message, fields);
    if (options.print_log) say(io, visibleJson({ level, message, ...fields }, 0));
  };
  const system = openSystemJournal(JOURNAL_TAG);
  const journal = (line: string) => system.write(line);
  const sandbox = engineOnce();
  const environment: Environment = {
    home: place.home,
    now: Date.now,
    id: v7,
    log,
    journal,
    sandbox,
  };
  io.onFault((error) => log("error", "fault", { error: traceOf(error) }));
  const gate = await open(environment, place, options);
  if (!gate) return announceRunning(io, options);
  log("info", "started", { version: VERSION, pid: io.pid, port: gate.port });
  const ended = untilEnded(io, options, file);
  const watch = setInterval(() => existsSync(place.home) || ended.end(), HOME_CHECK_MS);
  if (!options.detached) await announce(io, gate, options);
  await ended.stop;
  clearInterval(watch);
  log("info", "stopping");
  await Promise.race([gate.close(), ended.force]);
  system.close();
  log("info", "stopped");
}

/** Checks at this interval whether the data folder still exists; stops the daemon if not. */
const HOME_CHECK_MS = 2_000;

/** The started gate, or null if another daemon of this home runs. @throws CliError */
async function open(
  environment: Environment,
  place: Place,
  { auth }: ForegroundOptions,
): Promise<Gate | null> {
  try {
    const prepare = (daemon: Daemon) => registerWaiting(daemon, place.home, environment.log);
    return await startGate({ environment, port: place.port, auth, prepare });
  } catch (error) {
    if (await findDaemon(place)) return null;
    environment.log("error", "cannot start", { error: (error as Error).message });
    if (!(error instanceof PortTakenError)) throw error;
    throw portTaken(place.port, "gate daemon start");
  }
}

/** The error for a port in use, with the process that uses it if it can be found. */
export function portTaken(port: number, next: string): CliError {
  const holder = findListener(port);
  const who = holder ? `process ${holder.pid} (${holder.command})` : "an unknown process";
  return new CliError(`Cannot listen on port ${port}: ${who} uses it`, {
    next: `stop it, or set GATE_PORT to another port; then ${next}`,
  });
}

async function announce(io: Io, gate: Gate, { auth }: ForegroundOptions): Promise<void> {
  print(io, `gate ${VERSION} serves http://localhost:${gate.port}`);
  if (auth === "none") {
    say(
      io,
      "WARNING: no access token is required: every user of this machine can approve actions.",
    );
  }
  const link = await createLoginLink(await connect(io, { scope: "reviewer", start: false }));
  print(io, `Dashboard: ${link}`);
  print(
    io,
    "The link works once, within a minute; gate dashboard prints another. Ctrl-C stops gate.",
  );
}

async function announceRunning(io: Io, { detached }: ForegroundOptions): Promise<void> {
  print(io, "The daemon already runs.");
  if (detached) return;
  const link = await createLoginLink(await connect(io, { scope: "reviewer", start: false }));
  print(io, `Dashboard: ${link}`);
}

/** The first signal resolves `stop`; a second one resolves `force`, which ends without waiting. */
function untilEnded(io: Io, options: ForegroundOptions, file: LogFile) {
  let heard = 0;
  let resolveStop = () => {};
  let resolveForce = () => {};
  io.onSignal((signal: Signal) => {
    // A background daemon has no terminal, so SIGHUP means: reopen the log after its rotation.
    if (signal === "SIGHUP" && options.detached) return file.reopen();
    if (++heard === 1) resolveStop();
    else resolveForce();
  });
  return {
    end: () => resolveStop(),
    stop: new Promise<void>((resolve) => resolveStop = resolve),
    force: new Promise<void>((resolve) => resolveForce = resolve),
  };
}
