import { homedir, platform } from "node:os";
import { join } from "node:path";
import { Credentials } from "./auth/credentials.ts";
import { LoginCodes, PageKeys } from "./auth/login.ts";
import { openTokens, readOwners } from "./auth/tokens.ts";
import { createApp } from "./app.ts";
import { DEFAULT_PORT } from "./constants.ts";
import type { Environment } from "./environment.ts";
import { Daemon } from "./daemon.ts";
import { GateError } from "./errors.ts";
import { EventReaders } from "./events/readers.ts";
import { createGuard } from "./guard.ts";
import { problemResponse, secure } from "./guard/response.ts";
import { openHome, removeDaemonFile, writeDaemonFile } from "./runtime/home.ts";
import { readAsset } from "./runtime/assets.ts";
import { type Listening, type RawRequest, serve, type Timeouts } from "./runtime/serve.ts";

export interface StartOptions {
  environment: Environment;
  /** The TCP port on loopback; 0 lets the system choose. */
  port: number;
  /** `none` asks for no credential: for throw-away runs, never on the real home or port. */
  auth?: "token" | "none";
  /** Serves this project only (`gate start`). */
  project?: string;
  /** Done before the first request is answered. */
  prepare?: (daemon: Daemon) => Promise<void>;
  /** Shorter ones for tests. */
  timeouts?: Partial<Timeouts>;
}

/** A running gate. */
export interface Gate {
  readonly daemon: Daemon;
  readonly port: number;
  readonly url: string;
  readonly socket_path: string | null;
  /** Ends running requests, closes the ledgers, frees the port. */
  close(): Promise<void>;
}

type Entrance = (request: RawRequest) => Promise<Response>;

/** Longer paths do not fit into a socket's address on macOS. */
const LONGEST_SOCKET_PATH = 100;

/**
 * Puts a whole gate together and opens its doors. The port is taken first, so that a second daemon
 * finds out before it touches a ledger. @throws PortTakenError, GateError
 */
export async function startGate(options: StartOptions): Promise<Gate> {
  const { environment, port } = options;
  if (options.auth === "none") refuseOpenGate(environment.home, port);
  openHome(environment.home);
  const entrance = createLatch<Entrance>();
  const listening = await serve({
    port,
    socket_path: socketPath(environment.home),
    handler: async (request) => await (await entrance.opened)(request),
    refuse: (error) => secure(problemResponse(error), "/api"),
    timeouts: options.timeouts,
  });
  try {
    return await openGate(options, listening, entrance.open);
  } catch (error) {
    entrance.fail(error);
    await listening.close(0);
    throw error;
  }
}

async function openGate(
  { environment, auth, project, prepare }: StartOptions,
  listening: Listening,
  open: (entrance: Entrance) => void,
): Promise<Gate> {
  const { log, home } = environment;
  const { port, socket_path } = listening;
  const keys = new PageKeys(environment);
  const tokens = await openTokens(home);
  await keys.load();
  const credentials = new Credentials(tokens, keys, {
    open: auth === "none",
    owners: readOwners(home),
  });
  const daemon = await Daemon.open(environment, { port, project: project ?? null });
  await prepare?.(daemon);
  const readers = new EventReaders({ bus: daemon.bus, stream: daemon.stream, log });
  const logins = { codes: new LoginCodes(environment), keys };
  const app = createApp({ ...environment, daemon, logins, readers, assets: readAsset });
  open(createGuard(app, credentials, log));
  if (!project) await writeDaemonFile(environment, listening);
  return {
    daemon,
    port,
    socket_path,
    url: `http://localhost:${port}`,
    async close() {
      readers.close();
      // What runs in our name is stopped and reported while there still is a ledger.
      await app.close();
      const served = listening.close();
      await daemon.letGo();
      await served;
      // While this process owns the home, the file can be nobody else's.
      if (!project) await removeDaemonFile(home);
      await daemon.close();
    },
  };
}

function refuseOpenGate(home: string, port: number): void {
  if (port === DEFAULT_PORT) {
    throw new GateError("invalid", `Cannot run without credentials on port ${DEFAULT_PORT}`);
  }
  if (home === join(homedir(), ".gate")) {
    throw new GateError(
      "invalid",
      "Cannot run without credentials on the usual home: set GATE_HOME",
    );
  }
}

function socketPath(home: string): string | null {
  const path = join(home, "run", "gate.sock");
  return platform() !== "win32" && Buffer.byteLength(path) <= LONGEST_SOCKET_PATH ? path : null;
}

// Requests that come while the ledgers are being opened wait for that.
function createLatch<T>() {
  let open: (value: T) => void = () => {};
  let fail: (error: unknown) => void = () => {};
  const opened = new Promise<T>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  opened.catch(() => {});
  return { opened, open, fail };
}
