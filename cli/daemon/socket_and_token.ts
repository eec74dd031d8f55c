import { readTokenFile } from "../../server/auth/token_file.ts";
import type { TokenFile } from "../../server/runtime/quick_files.ts";
import { homeOf, socketPath } from "../home.ts";
import type { Io } from "../io.ts";

/** The path of the daemon's socket, or null if it has none, and the token of a scope. */
export function findSocketAndToken(
  io: Pick<Io, "env" | "cwd">,
  scope: string,
): { socket: string | null; found: TokenFile } {
  const home = homeOf(io);
  return { socket: socketPath(home), found: readTokenFile(home, scope) };
}
