import { homedir, platform } from "node:os";
import { join } from "node:path";
import { Credentials } from "./auth/credentials.ts";
import { LoginCodes, PageKeys, removeKeyFile } from "./auth/login.ts";
import { Prover } from "./auth/prover.ts";
import { openTokens, readOwners } from "./auth/tokens.ts";
import { createApp } from "./app.ts";
import { DEFAULT_PORT } from "./constants.ts";
import type { Environment } from "./environment.ts";
import { Daemon, type DaemonOptions } from "./daemon.ts";
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
  /** `none` requires no credential. For temporary runs, never on the real home or port. */
  auth?: "token" | "none";
  /** Serves only this project (`gate start`). */
  project?: string;
  /** Runs before the first answer. */
  prepare?: (daemon: Daemon) => Promise<void>;
  /** Shorter time-outs, for tests. */
  timeouts?: Partial<Timeouts>;
  /** The machine that the daemon looks at; only tests set it. */
  machine?: DaemonOptions["machine"];
}

/** A running gate. */
export interface Gate {
  readonly daemon: Daemon;
  readonly port: number;
  readonly url: string;
  readonly socket_path: string | null;
  /** Ends running requests, closes the ledgers and releases the port. */
  close(): Promise<void>;
}

type Guard = (request: RawRequest) => Promise<Response>;

/** The longest path of a socket on macOS. */
const MAX_SOCKET_PATH = 100;

/**
 * Starts a gate. Binds the port first, so that a second daemon fails before it opens a ledger.
 * @throws PortTakenError, GateError
 */
export async function startGate(options: StartOptions): Promise<Gate> {
  const { environment, port } = options;
  if (options.auth === "none") refuseOpenGate(environment.home, port);
  openHome(environment.home);
  const guard = createLatch<Guard>();
  let daemon: Daemon | null = null;
  const listening = await serve({
    port,
    socket_path: socketPath(environment.home),
    handler: async (request) => await (await guard.opened)(request),
    // A hook connects first and reads its input then.
    connected: () => daemon?.guarding.lookAhead(),
    refuse: (error) => secure(problemResponse(error), "/api"),
    timeouts: options.timeouts,
  });
  try {
    const gate = await openGate(options, listening, guard.open);
    daemon = gate.daemon;
    return gate;
  } catch (error) {
    guard.fail(error);
    await listening.close(0);
    throw error;
  }
}

async function openGate(
  { environment, auth, project, prepare, machine }: StartOptions,
  listening: Listening,
  open: (guard: Guard) => void,
): Promise<Gate> {
  const { log, home } = environment;
  const { port, socket_path } = listening;
  const keys = new PageKeys(environment);
  const tokens = await openTokens(home);
  await removeKeyFile(home);
  const owners = readOwners(home);
  const daemon = await Daemon.open(environment, {
    port,
    project: project ?? null,
    open: auth === "none",
    owner: owners.reviewer!,
    machine,
  });
  const credentials = new Credentials(tokens, keys, {
    open: auth === "none",
    owners,
    role_of: (member_id) => daemon.team.roleOf(member_id),
  });
  if (auth === "none") await refuseProvenHome(daemon);
  await prepare?.(daemon);
  const readers = new EventReaders({ bus: daemon.bus, stream: daemon.stream, log });
  daemon.monitor.start(() => readers.follows("agents"));
  const prover = new Prover(keys, tokens);
  const logins = { codes: new LoginCodes(environment), keys };
  const app = createApp({ ...environment, daemon, logins, prover, readers, assets: readAsset });
  open(createGuard(app, credentials, { keys, log }));
  if (!project) await writeDaemonFile(environment, listening);
  return {
    daemon,
    port,
    socket_path,
    url: `http://localhost:${port}`,
    async close() {
      readers.close();
      // Stops running commands first, because their results need an open ledger.
      await app.close();
      const served = listening.close();
      keys.end();
      await daemon.letGo();
      await served;
      // Removed before the daemon releases the home, so that the file is still this daemon's.
      if (!project) await removeDaemonFile(home);
      await daemon.close();
    },
  };
}

function refuseOpenGate(home: string, port: number): void {
  if (port === DEFAULT_PORT) {
    throw new GateError(
      "invalid",
      `Cannot run without credentials on port ${DEFAULT_PORT}`,
      { next: "set GATE_PORT to another port" },
    );
  }
  if (home === join(homedir(), ".gate")) {
    throw new GateError(
      "invalid",
      "Cannot run without credentials on the default home",
      { next: "set GATE_HOME to a throw-away folder" },
    );
  }
}

/** Without credentials no proof is asked, so a home with a key must not be opened that way. */
async function refuseProvenHome(daemon: Daemon): Promise<void> {
  const { kind, problem } = await daemon.proofs.status();
  if (problem === null && (kind === "none" || kind === "token")) return;
  await daemon.close();
  throw new GateError(
    "invalid",
    "Cannot run without credentials on this home: a passphrase or passkey decides here",
    { next: "set GATE_HOME to a throw-away folder" },
  );
}

function socketPath(home: string): string | null {
  const path = join(home, "run", "gate.sock");
  return platform() !== "win32" && Buffer.byteLength(path) <= MAX_SOCKET_PATH ? path : null;
}

// Requests wait here until the ledgers are open.
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
