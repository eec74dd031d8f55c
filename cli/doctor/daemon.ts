import { existsSync } from "node:fs";
import { connect } from "node:net";
import { problemOf } from "../../server/config/daemon_problem.ts";
import { MACHINE_ID, VERSION } from "../../server/constants.ts";
import { findListener } from "../../server/runtime/processes.ts";
import { findDaemon, isOlder } from "../daemon/find.ts";
import type { CheckContext } from "./context.ts";
import type { Findings } from "./findings.ts";

/** Checks the daemon. It need not run, but a running daemon must be healthy. */
export async function checkDaemon(context: CheckContext, found: Findings): Promise<void> {
  const { daemon, refusal, place } = context;
  if (refusal !== null) {
    const runs = await findDaemon(place) !== null;
    return found.fail(refusal, runs ? "gate daemon restart" : "gate daemon logs");
  }
  if (daemon === null) return found.ok("it does not run; a command that needs it starts it");
  found.ok(`it runs: pid ${daemon.pid}, port ${daemon.port}`);
  // An older daemon sends messages alone.
  const findings = daemon.findings ?? daemon.problems.map((message) => problemOf(message));
  for (const { message, fix, is_config } of findings) {
    // The check of the configs names the place and the fix.
    if (!is_config) found.fail(message, fix ?? "gate daemon logs");
  }
  // A project is also unreachable while the server of its ledger does not answer.
  const lost = daemon.projects.filter(({ id, reachable, roots }) =>
    !reachable && id !== MACHINE_ID && !roots.some((root) => existsSync(root))
  );
  for (const { id, roots } of lost) {
    found.warn(`project "${id}" has no folder any more: ${roots.join(", ")}`, forget(id), {
      kind: "page",
      page: "projects",
      project: null,
    });
  }
}

function forget(id: string): string {
  return `gate project remove ${id}`;
}

/** Checks that this program and the daemon have the same version. */
export function checkVersions({ daemon }: CheckContext, found: Findings): void {
  if (daemon === null || daemon.version === VERSION) return found.ok(`gate ${VERSION}`);
  const older = isOlder(daemon.version, VERSION);
  found.warn(
    `the daemon is gate ${daemon.version}, this is ${VERSION}`,
    older ? "gate daemon start" : "install the newer release here, too",
  );
}

/** Checks that the port is the daemon's, or free. */
export async function checkPort({ daemon, place }: CheckContext, found: Findings): Promise<void> {
  const { port } = place;
  if (daemon !== null) return found.ok(`${daemon.port} is the daemon's`);
  const holder = findListener(port);
  if (holder === null && !await answers(port)) return found.ok(`${port} is free`);
  const who = holder ? `process ${holder.pid}: ${holder.command}` : "an unknown process";
  found.fail(
    `${port} is taken by ${who}`,
    "stop it, or set GATE_PORT to another port; then gate daemon start",
  );
}

const CONNECT_TIMEOUT_MS = 1_000;

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1", timeout: CONNECT_TIMEOUT_MS });
    const end = (answered: boolean) => {
      socket.destroy();
      resolve(answered);
    };
    socket.on("connect", () => end(true));
    socket.on("error", () => end(false));
    socket.on("timeout", () => end(false));
  });
}
