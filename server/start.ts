import { homedir, platform } from "node:os";
import { join } from "node:path";
import { Credentials } from "./auth/credentials.ts";
import { PageKeys } from "./auth/page_keys.ts";
import { openTokens } from "./auth/tokens.ts";
import { DEFAULT_PORT } from "./constants.ts";
import type { Environment } from "./context.ts";
import { Daemon } from "./daemon.ts";
import { createEntrance } from "./entrance.ts";
import { GateError } from "./errors.ts";
import { problemResponse, secure } from "./guard/response.ts";
import { createRouter } from "./router.ts";
import { openHome } from "./runtime/home.ts";
import { removeDaemonFile, writeDaemonFile } from "./runtime/daemon_file.ts";
import { type Listening, type RawRequest, serve, type Timeouts } from "./runtime/serve.ts";

export interface StartOptions {
  environment: Environment;
  /** The TCP port on 127.0.0.1; 0 lets the system choose. */
  port: number;
  /** `none` asks for no credential: for throw-away runs, never on the real home or port. */
  auth?: "token" | "none";
  /** Serves this project only (`gate start`). */
  project?: string;
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

/** Longer paths do not fit into a socket's address on macOS. */
const LONGEST_SOCKET_PATH = 100;

/**
 * Puts a whole gate together and opens its doors. The port is taken first, so that a second daemon
 * finds out before it touches a ledger. @throws PortTakenError, GateError
 */
export async function startGate(options: StartOptions): Promise<Gate> {
  const { environment, port, auth = "token" } = options;
  if (auth === "none") refuseOpenGate(environment.home, port);
  openHome(environment.home);
  const tokens = await openTokens(environment.home);
  const page_keys = new PageKeys(environment);
  await page_keys.load();
  const credentials = new Credentials(tokens, page_keys, { open: auth === "none" });
  const entrance = createLatch<(request: RawRequest) => Promise<Response>>();
  const listening = await serve({
    port,
    socket_path: socketPath(environment.home),
    handler: async (request) => await (await entrance.opened)(request),
    refuse: (error) => secure(problemResponse(error), "/api"),
    timeouts: options.timeouts,
  });
  try {
    const daemon = await Daemon.open(environment, {
      port: listening.port,
      project: options.project ?? null,
    });
    const router = createRouter({ ...environment, daemon });
    entrance.open(createEntrance(router, credentials, environment.log));
    if (!options.project) await writeDaemonFile(environment, listening);
    return {
      daemon,
      port: listening.port,
      socket_path: listening.socket_path,
      url: `http://localhost:${listening.port}`,
      async close() {
        await stopServing(router, listening);
        await daemon.close();
        if (!options.project) await removeDaemonFile(environment.home);
      },
    };
  } catch (error) {
    entrance.fail(error);
    await listening.close(0);
    throw error;
  }
}

/** What runs in our name is stopped and reported while there still is a ledger. */
async function stopServing(router: { close(): Promise<void> }, listening: Listening) {
  await router.close();
  await listening.close();
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
