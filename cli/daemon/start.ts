import { setTimeout as sleep } from "node:timers/promises";
import { readToken } from "../../server/auth/tokens.ts";
import { createClient, unwrap } from "../../server/client.ts";
import { VERSION } from "../../server/constants.ts";
import type { DaemonStatus } from "../../server/global/schema.ts";
import { connect, ensureDaemon } from "./connect.ts";
import { CliError } from "../errors.ts";
import { findDaemon, isOlder, type Reached } from "./find.ts";
import type { Io } from "../io.ts";
import { print, printJson, say } from "../terminal/output.ts";
import { type Place, placeOf } from "../place.ts";
import { askToGiveWay, isOwnServer } from "./own_server.ts";
import { withSpinner } from "../terminal/prompts.ts";

import { stopDaemon } from "./stop.ts";

export interface StartDaemonOptions {
  auth: "token" | "none";
  foreground: boolean;
  json?: boolean;
}

/** Starts a daemon unless one of this version or a newer one runs; replaces an older one. */
export async function startDaemon(io: Io, options: StartDaemonOptions): Promise<void> {
  const place = placeOf(io);
  const running = await findDaemon(place);
  let status = running && await statusOf(io, running);
  if (status && isOwnServer(place.home, status.pid)) {
    // The server of `gate start` owns the ledger: it has to hand it over to the daemon.
    await giveWay(io, place, status.pid);
    status = null;
  }
  const isOld = status !== null && isOlder(status.version, VERSION);
  if (isOld) say(io, `Replacing the running daemon ${status!.version} with ${VERSION}.`);
  else if (status && !options.foreground) {
    await checkAuth(io, options.auth);
    return report(io, status, options, false);
  }
  if (options.foreground) {
    // Another process may have replaced it: only the old daemon is stopped.
    if (isOld) await stopDaemon(place, status!.pid);
    const { runDaemon } = await import("./foreground.ts");
    return await runDaemon(io, { auth: options.auth, detached: false });
  }
  const started = await withSpinner(
    io,
    isOld ? "Waiting for the older daemon to stop" : "Starting the daemon",
    () => ensureDaemon(io, ["--auth", options.auth]),
  );
  report(io, await statusOf(io, started), options, true);
}

/** Compares the running daemon with the wanted one. @throws CliError if it asks for more */
async function checkAuth(io: Io, auth: StartDaemonOptions["auth"]): Promise<void> {
  const client = await connect(io, { scope: "viewer", start: false });
  const { open } = await unwrap(client.api.proof.$get());
  if (auth === "token" && open) {
    say(
      io,
      "! It runs with --auth none: whoever reaches its port can approve. gate daemon restart",
    );
  }
  if (auth === "token" || open) return;
  const why = "a daemon of this home runs already, and it asks for credentials";
  throw new CliError(`Cannot start the daemon with --auth none: ${why}`, {
    next:
      "set GATE_HOME to a throw-away folder and GATE_PORT to a free port, then the same command",
  });
}

/** Makes the server of `gate start` hand over its ledger. @throws CliError if it does not */
export async function giveWay(io: Io, place: Place, pid: number): Promise<void> {
  askToGiveWay(place.home);
  const deadline = Date.now() + GIVE_WAY_MS;
  await withSpinner(io, "Waiting for gate start to hand over its ledger", async () => {
    while (isOwnServer(place.home, pid)) {
      if (Date.now() > deadline) {
        const why = `the server of gate start (pid ${pid}) does not hand over its ledger`;
        throw new CliError(`Cannot start the daemon: ${why}`, {
          next: "stop that server with Ctrl-C, then gate daemon start",
        });
      }
      await sleep(25);
    }
  });
}

const GIVE_WAY_MS = 15_000;

async function statusOf(io: Io, reached: Reached): Promise<DaemonStatus> {
  const token = await readToken(placeOf(io).home, "viewer");
  return await unwrap(createClient({ ...reached, token }).api.daemon.status.$get());
}

function report(
  io: Io,
  { version, port, pid }: DaemonStatus,
  { json }: StartDaemonOptions,
  started: boolean,
): void {
  const url = `http://localhost:${port}`;
  if (json) return printJson(io, { started, version, port, pid, url });
  print(io, `gate ${version} ${started ? "runs" : "already runs"}: ${url} (pid ${pid})`);
  say(io, "  gate dashboard opens the dashboard; gate daemon stop stops the daemon");
}
