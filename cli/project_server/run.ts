import { v7 } from "uuid";
import { createClient, unwrap } from "../../server/client.ts";
import type { Environment } from "../../server/environment.ts";
import { readToken } from "../../server/auth/tokens.ts";
import { identifyProject } from "../../server/projects/identity.ts";
import { openHome } from "../../server/runtime/home.ts";
import { findListener } from "../../server/runtime/processes.ts";
import { PortTakenError } from "../../server/runtime/serve.ts";
import { startGate } from "../../server/start.ts";
import { findDaemon, type Reached } from "../daemon/find.ts";
import { createLog, LogFile, logPath } from "../daemon/log_file.ts";
import { CliError } from "../errors.ts";
import type { Io, Signal } from "../io.ts";
import { print, say } from "../terminal/output.ts";
import { type Place, placeOf } from "../place.ts";
import { visibleLine } from "../terminal/visible.ts";
import { serveForwarding } from "./forward.ts";
import { removeOwnServer, writeOwnServer } from "./own_server.ts";
import { portOfProject } from "./ports.ts";

interface Serving {
  io: Io;
  place: Place;
  root: string;
  id: string;
  port: number;
}

/**
 * Serves one project on its own port until a signal: through the daemon where one runs, else by
 * itself; when a daemon starts later, the ledger is left to it.
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
    const holder = findListener(serving.port);
    const who = holder ? `process ${holder.pid}: ${holder.command}` : "another user's program";
    throw new CliError(`Port ${serving.port} of this project is taken by ${who}`, {
      next: "stop that program, then gate start",
    });
  }
}

async function serveThrough(serving: Serving, reached: Reached): Promise<"ended"> {
  const { io, place, root, id, port } = serving;
  const client = createClient({ ...reached, token: await readToken(place.home, "reviewer") });
  await unwrap(client.api.hub.projects.$post({ json: { root } }));
  const listening = await serveForwarding({ port, project: id, reached });
  await announce(serving, reached, "through the daemon");
  await nextSignal(io);
  await listening.close();
  return "ended";
}

async function serveAlone(serving: Serving): Promise<"ended" | "give way"> {
  const { io, place, root, id, port } = serving;
  const log = createLog(new LogFile(logPath(place.home)), Date.now);
  const environment: Environment = { home: place.home, now: Date.now, id: v7, log };
  const gate = await startGate({ environment, port, project: id });
  await gate.daemon.registerProject(root);
  writeOwnServer(place.home, io.pid);
  const reached = await findDaemon(place);
  if (reached) await announce(serving, reached, "by itself");
  const signal = await nextSignal(io);
  await gate.close();
  removeOwnServer(place.home);
  return signal === "SIGHUP" ? "give way" : "ended";
}

const DAEMON_DEADLINE_MS = 20_000;

async function waitForDaemon({ place }: Serving): Promise<Reached | null> {
  const deadline = Date.now() + DAEMON_DEADLINE_MS;
  while (Date.now() < deadline) {
    const reached = await findDaemon(place);
    if (reached) return reached;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return null;
}

async function announce(serving: Serving, reached: Reached, how: string): Promise<void> {
  const { io, place, id, port } = serving;
  print(io, `gate serves ${visibleLine(id)} ${how}: http://localhost:${port}`);
  const client = createClient({ ...reached, token: await readToken(place.home, "reviewer") });
  const { path } = await unwrap(client.api.auth["login-code"].$post());
  print(io, `Dashboard: http://localhost:${port}${path}`);
  say(io, "The link works once, for a minute. Ctrl-C ends this server.");
}

function nextSignal(io: Io): Promise<Signal> {
  return new Promise((resolve) => {
    const forget = io.onSignal((signal) => {
      forget();
      resolve(signal);
    });
  });
}
