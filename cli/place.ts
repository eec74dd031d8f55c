import { readFileSync } from "node:fs";
import { platform, userInfo } from "node:os";
import { join, resolve } from "node:path";
import { z } from "zod";
import { DEFAULT_PORT } from "../server/constants.ts";
import { CliError, EXIT } from "./errors.ts";
import type { Io } from "./io.ts";

/** Where the gate of this environment lives. */
export interface Place {
  home: string;
  port: number;
}

/** The data folder and port that `GATE_HOME` and `GATE_PORT` name, or the usual ones. */
export function placeOf(io: Pick<Io, "env" | "cwd">): Place {
  const home = io.env.GATE_HOME ? resolve(io.cwd, io.env.GATE_HOME) : join(userHome(io), ".gate");
  return { home, port: portOf(io.env.GATE_PORT) };
}

/** The user's own folder; an empty `HOME` falls back on the account's. */
export function userHome(io: Pick<Io, "env">): string {
  return io.env.HOME || userInfo().homedir;
}

function portOf(given: string | undefined): number {
  if (!given) return DEFAULT_PORT;
  const port = Number(given);
  if (/^\d{1,5}$/.test(given) && port >= 1 && port <= 65_535) return port;
  throw new CliError(`Cannot use GATE_PORT "${given}": it is no port number`, {
    exit: EXIT.usage,
  });
}

/** What a running daemon says of itself in `daemon.json`: information, never proof. */
const DaemonFile = z.looseObject({
  pid: z.number().int().positive(),
  start_time: z.string(),
  port: z.number().int(),
  version: z.string(),
  started_at: z.string(),
  socket: z.string().nullable(),
});
type DaemonFile = z.infer<typeof DaemonFile>;

function daemonFilePath(home: string): string {
  return join(home, "daemon.json");
}

/** The unix socket of the daemon, unless its path is too long for one. */
export function socketPath(home: string): string | null {
  const path = join(home, "run", "gate.sock");
  const longest = 100;
  return Buffer.byteLength(path) <= longest && platform() !== "win32" ? path : null;
}

/** `daemon.json`, or null where there is none that can be read. */
export function readDaemonFile(home: string): DaemonFile | null {
  try {
    return DaemonFile.parse(JSON.parse(readFileSync(daemonFilePath(home), "utf8")));
  } catch {
    return null;
  }
}
