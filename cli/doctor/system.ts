import { statfsSync, statSync } from "node:fs";
import { logPath } from "../daemon/log_file.ts";
import { nearestFolder } from "./home.ts";
import type { CheckContext } from "./context.ts";
import type { Findings } from "./findings.ts";

const MIB = 1024 * 1024;

/** Checks the free space for the ledgers, and that their disk is local. */
export function checkDisk({ place: { home } }: CheckContext, found: Findings): void {
  const folder = nearestFolder(home);
  const { bavail, bsize, type } = statfsSync(folder);
  checkSpace(Number(bavail) * Number(bsize), folder, found);
  const network = NETWORK[Number(type)];
  if (network === undefined) return;
  found.fail(
    `${home} is on ${network}, where a ledger is not safe`,
    "set GATE_HOME to a folder on a disk of this machine",
  );
}

/** Checks the free bytes on the disk of the folder. */
export function checkSpace(bytes: number, folder: string, found: Findings): void {
  const free = bytes / MIB;
  const said = free < 1024 ? `${Math.floor(free)} MiB` : `${(free / 1024).toFixed(1)} GiB`;
  const fix = `make room on the disk of ${folder}`;
  if (free < 1) found.fail("the disk is full: gate cannot record actions", fix);
  else if (free < 100) found.fail(`only ${said} are free: gate soon cannot record actions`, fix);
  else if (free < 1024) found.warn(`only ${said} are free`, fix);
  else found.ok(`${said} are free`);
}

/** Linux magic numbers of network file systems, which cannot share SQLite's write-ahead log. */
const NETWORK: Record<number, string> = {
  0x6969: "NFS",
  0x517b: "SMB",
  0xff534d42: "CIFS",
  0xfe534d42: "SMB 2",
  0x5346414f: "AFS",
};

const TOLERANCE_MS = 60_000;

/** Checks the clock: no recorded time may be in the future. */
export function checkClock({ daemon, place, now }: CheckContext, found: Findings): void {
  const log = statSync(logPath(place.home), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const recorded = (daemon?.projects ?? []).map(({ last_activity_at }) => last_activity_at)
    .concat(daemon?.started_at ?? null)
    .flatMap((at) => at === null ? [] : [Date.parse(at)]);
  const latest = Math.max(log, ...recorded);
  const said = new Date(now).toISOString();
  const fix = "set this machine's clock, then gate daemon restart";
  if (now < Date.UTC(2026, 0)) found.fail(`it says ${said}, which is years ago`, fix);
  else if (latest > now + TOLERANCE_MS) {
    const recordedAt = new Date(latest).toISOString();
    found.fail(`it says ${said}, but something was recorded at ${recordedAt}`, fix);
  } else found.ok(said);
}
