import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  identify,
  isSameProcess,
  type ProcessIdentity,
  signalProcess,
} from "../../server/runtime/processes.ts";

/** Records that this process is a project's own server and owns the home. */
export function writeOwnServer(home: string, pid: number): void {
  writeFileSync(pathOf(home), JSON.stringify(identify(pid)), { mode: 0o600 });
}

export function removeOwnServer(home: string): void {
  rmSync(pathOf(home), { force: true });
}

/** Whether the process with this pid is a project's own server, not a daemon. */
export function isOwnServer(home: string, pid: number): boolean {
  const noted = readOwnServer(home);
  return noted?.pid === pid && isSameProcess(noted);
}

/** Signals a project's own server to hand over the ledger; it then forwards to the daemon. */
export function askToGiveWay(home: string): boolean {
  const noted = readOwnServer(home);
  return noted !== null && signalProcess(noted, "SIGHUP");
}

function readOwnServer(home: string): ProcessIdentity | null {
  try {
    return JSON.parse(readFileSync(pathOf(home), "utf8")) as ProcessIdentity;
  } catch {
    return null;
  }
}

function pathOf(home: string): string {
  return join(home, "run", "project_server.json");
}
