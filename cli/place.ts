import { join } from "node:path";
import { z } from "zod";
import { DEFAULT_PORT } from "../server/constants.ts";
import { readSmallFile } from "../server/runtime/small_file.ts";
import { CliError, EXIT } from "./errors.ts";
import { homeOf } from "./home.ts";
import type { Io } from "./io.ts";

/** Where the gate of this environment lives. */
export interface Place {
  home: string;
  port: number;
}

/** The data folder and port that `GATE_HOME` and `GATE_PORT` name, or the usual ones. */
export function placeOf(io: Pick<Io, "env" | "cwd">): Place {
  return { home: homeOf(io), port: portOf(io.env.GATE_PORT) };
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

const MAX_BYTES = 64 * 1024;

function daemonFilePath(home: string): string {
  return join(home, "daemon.json");
}

/** `daemon.json`, or null where there is none that can be read. */
export function readDaemonFile(home: string): DaemonFile | null {
  try {
    return DaemonFile.parse(JSON.parse(readSmallFile(daemonFilePath(home), MAX_BYTES)));
  } catch {
    return null;
  }
}
