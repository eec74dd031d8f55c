import { platform, userInfo } from "node:os";
import { join, resolve } from "node:path";
import { socketIn } from "../server/runtime/wire.ts";
import type { Io } from "./io.ts";

/** The data folder: `GATE_HOME`, or `~/.gate`. */
export function homeOf(io: Pick<Io, "env" | "cwd">): string {
  return io.env.GATE_HOME ? resolve(io.cwd, io.env.GATE_HOME) : join(userHome(io), ".gate");
}

/** The user's home folder: `HOME`, or the account's folder if `HOME` is empty. */
export function userHome(io: Pick<Io, "env">): string {
  return io.env.HOME || userInfo().homedir;
}

/** The path of the daemon's unix socket; null on Windows or if the path is too long. */
export function socketPath(home: string): string | null {
  return platform() === "win32" ? null : socketIn(home);
}
