import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { v7 } from "uuid";
import { createClient, unwrap } from "../../server/client.ts";
import { FIRST_PROJECT_PORT } from "../../server/constants.ts";
import type { Environment } from "../../server/environment.ts";
import { readToken } from "../../server/auth/tokens.ts";
import { identifyProject } from "../../server/projects/identity.ts";
import { openHome } from "../../server/runtime/home.ts";
import { engineOnce } from "../../server/sandbox/engine.ts";
import { PortTakenError } from "../../server/runtime/serve.ts";
import { startGate } from "../../server/start.ts";
import { findDaemon, type Reached } from "../daemon/find.ts";
import { portTaken } from "../daemon/foreground.ts";
import { createLog, LogFile, logPath } from "../daemon/log_file.ts";
import { CliError } from "../errors.ts";
import type { Io, Signal } from "../io.ts";
import { print, say } from "../terminal/output.ts";
import { type Place, placeOf } from "../place.ts";
import { visibleLine } from "../terminal/visible.ts";
import { serveForwarding } from "./forward.ts";
import { removeOwnServer, writeOwnServer } from "../daemon/own_server.ts";

interface Serving {
  io: Io;
  place: Place;
  root: string;
  id: string;
  port: number;
}

/**
 * Serves one project on its own port until a signal. It forwards requests to the daemon if one runs;
 * otherwise it owns the ledger itself, and hands it over when a daemon starts.
 */
export async function serveProject(io: Io, folder: string): Promise<void> {
  const place = placeOf(io);
  openHome(place.home);
  const { id, root } = identifyProject(folder);
  const serving = { io, place, root, id, port: portOfProject(place.home, id) };
  try {
    for (let reached = await findDaemon(place);; reached = await waitForDaemon(serving)) {
      const ended = reached ? await serveThrough(serving, reached) : await serveAlone(serving);
      if (ended !== "give way") return;
    }
  } catch (error) {
    if (!(error instanceof PortTakenError)) throw error;
    throw portTaken(serving.port, "gate start");
  }
}

async function serveThrough(serving: Serving, reached: Reached): Promise<"ended"> {
  const { io, place, root, id, port } = serving;
  const client = createClient({ ...reached, token: await readToken(place.home, "reviewer") });
  await unwrap(client.api.hub.projects.$post({ json: { root } }));
  const listening = await serveForwarding({ port, project: id, reached });
  const signal = nextSignal(io);
  await announce(serving, reached, "through the daemon");
  await signal;
  await listening.close();
  return "ended";
}

async function serveAlone(serving: Serving): Promise<"ended" | "give way"> {
  const { io, place, root, id, port } = serving;
  const log = createLog(new LogFile(logPath(place.home)), Date.now);
  const sandbox = engineOnce();
  const environment: Environment = { home: place.home, now: Date.now, id: v7, log, sandbox };
  const gate = await startGate({ environment, port, project: id });
  await gate.daemon.projects.register(root, { id: "start", scope: "reviewer" });
  // A daemon that starts finds this server from here on, and may send its signal at once.
  const signal = nextSignal(io);
  writeOwnServer(place.home, io.pid);
  const reached = await findDaemon(place);
  if (reached) await announce(serving, reached, "by itself");
  const ended = await signal;
  await gate.close();
  removeOwnServer(place.home);
  return ended === "SIGHUP" ? "give way" : "ended";
}

const DAEMON_DEADLINE_MS = 20_000;

async function waitForDaemon({ place }: Serving): Promise<Reached | null> {
  const deadline = Date.now() + DAEMON_DEADLINE_MS;
  while (Date.now() < deadline) {
    const reached = await findDaemon(place);
    if (reached) return reached;
    await sleep(50);
  }
  return null;
}

async function announce(serving: Serving, reached: Reached, how: string): Promise<void> {
  const { io, place, id, port } = serving;
  print(io, `gate serves ${visibleLine(id)} ${how}: http://localhost:${port}`);
  const client = createClient({ ...reached, token: await readToken(place.home, "reviewer") });
  const { path } = await unwrap(client.api.auth["login-code"].$post());
  print(io, `Dashboard: http://localhost:${port}${path}`);
  say(io, "The link works once, within a minute. Ctrl-C stops this server.");
}

function nextSignal(io: Io): Promise<Signal> {
  return new Promise((resolve) => {
    const forget = io.onSignal((signal) => {
      forget();
      resolve(signal);
    });
  });
}

const LAST_PORT = 48_000;

/**
 * The port of a project's own server, from 47001 up; a project always gets the same one. Each port
 * has one file, created exclusively, so that two projects cannot get the same port.
 */
export function portOfProject(home: string, id: string): number {
  const folder = join(home, "ports");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const taken = new Map(readdirSync(folder).map((port) => [readOwner(join(folder, port)), port]));
  const known = taken.get(id);
  if (known) return Number(known);
  for (let port = FIRST_PROJECT_PORT; port <= LAST_PORT; port++) {
    if (claim(join(folder, String(port)), id)) return port;
  }
  throw new CliError(`Cannot choose a port: ${folder} assigns all ports up to ${LAST_PORT}`, {
    next: `delete the files of projects that no longer exist in ${folder}`,
  });
}

function claim(path: string, id: string): boolean {
  try {
    writeFileSync(path, id, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

function readOwner(path: string): string {
  return readFileSync(path, "utf8");
}
