import { join } from "node:path";
import { z } from "zod";
import { DEFAULT_PORT } from "../server/constants.ts";
import { readSmallFile } from "../server/runtime/small_file.ts";
import { CliError, EXIT } from "./errors.ts";
import { homeOf } from "./home.ts";
import type { Io } from "./io.ts";

/** The data folder and port of one gate. */
export interface Place {
  home: string;
  port: number;
}

/** Reads `GATE_HOME` and `GATE_PORT`, with their defaults. @throws CliError for a bad port */
export function placeOf(io: Pick<Io, "env" | "cwd">): Place {
  return { home: homeOf(io), port: portOf(io.env.GATE_PORT) };
}

function portOf(given: string | undefined): number {
  if (!given) return DEFAULT_PORT;
  const port = Number(given);
  if (/^\d{1,5}$/.test(given) && port >= 1 && port <= 65_535) return port;
  throw new CliError(`Cannot use GATE_PORT "${given}": it is not a port number`, {
    next: "unset GATE_PORT, or set it to a number from 1 to 65535",
    exit: EXIT.usage,
  });
}

/** How a running daemon describes itself in `daemon.json`; a caller has to verify the process. */
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

/** The content of `daemon.json`; null if the file is missing or invalid. */
export function readDaemonFile(home: string): DaemonFile | null {
  try {
    return DaemonFile.parse(JSON.parse(readSmallFile(join(home, "daemon.json"), MAX_BYTES)));
  } catch {
    return null;
  }
}
