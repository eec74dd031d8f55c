import { connect } from "node:net";
import { VERSION } from "../../server/constants.ts";
import { findListener } from "../../server/runtime/processes.ts";
import { findDaemon } from "../daemon/find.ts";
import { isOlder } from "../daemon/older.ts";
import type { Findings, Patient } from "./patient.ts";

/** The daemon: it need not run, but one that runs must be well and of this version. */
export async function checkDaemon(patient: Patient, found: Findings): Promise<void> {
  const { daemon, refusal, place } = patient;
  if (refusal !== null) {
    const runs = await findDaemon(place) !== null;
    return found.fail(refusal, runs ? "gate daemon restart" : "gate daemon logs");
  }
  if (daemon === null) return found.ok("it does not run; whatever needs it starts it");
  found.ok(`it runs: pid ${daemon.pid}, port ${daemon.port}`);
  for (const problem of daemon.problems) found.fail(problem, fixOf(problem));
  const lost = daemon.projects.filter(({ reachable }) => !reachable);
  for (const { id, roots } of lost) {
    found.warn(`project "${id}" has no folder any more: ${roots.join(", ")}`, forget(id));
  }
}

function forget(id: string): string {
  return `gate project remove ${id}`;
}

/** A damaged file is kept for a person: once it has been looked at, it can go. */
function fixOf(problem: string): string {
  const kept = /kept(?:, a new one was begun)?: (.+)$/.exec(problem)?.[1];
  return kept ? `look at it, then mv "${kept}" somewhere else` : "gate daemon logs";
}

/** The program that was called and the one that serves are of one version. */
export function checkVersions({ daemon }: Patient, found: Findings): void {
  if (daemon === null || daemon.version === VERSION) return found.ok(`gate ${VERSION}`);
  const older = isOlder(daemon.version, VERSION);
  found.warn(
    `the daemon is gate ${daemon.version}, this is ${VERSION}`,
    older ? "gate daemon start" : "install the newer release here, too",
  );
}

/** The port is the daemon's, or free for it. */
export async function checkPort({ daemon, place }: Patient, found: Findings): Promise<void> {
  const { port } = place;
  if (daemon !== null) return found.ok(`${daemon.port} is the daemon's`);
  const holder = findListener(port);
  if (holder === null && !await answers(port)) return found.ok(`${port} is free`);
  const who = holder ? `process ${holder.pid}: ${holder.command}` : "a program of another user";
  found.fail(`${port} is taken by ${who}`, "stop that program, then gate daemon start");
}

const PATIENCE_MS = 1_000;

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1", timeout: PATIENCE_MS });
    const end = (answered: boolean) => {
      socket.destroy();
      resolve(answered);
    };
    socket.on("connect", () => end(true));
    socket.on("error", () => end(false));
    socket.on("timeout", () => end(false));
  });
}
