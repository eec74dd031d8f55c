import { platform, userInfo } from "node:os";
import { join, resolve } from "node:path";
import { socketIn } from "../server/runtime/wire.ts";
import type { Io } from "./io.ts";

/** The data folder that `GATE_HOME` names, or the usual one. */
export function homeOf(io: Pick<Io, "env" | "cwd">): string {
  return io.env.GATE_HOME ? resolve(io.cwd, io.env.GATE_HOME) : join(userHome(io), ".gate");
}

/** The user's own folder; an empty `HOME` falls back on the account's. */
export function userHome(io: Pick<Io, "env">): string {
  return io.env.HOME || userInfo().homedir;
}

/** The unix socket of the daemon, unless its path is too long for one. */
export function socketPath(home: string): string | null {
  return platform() === "win32" ? null : socketIn(home);
}
