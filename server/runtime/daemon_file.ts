import { rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { VERSION } from "../constants.ts";
import type { Environment } from "../environment.ts";
import { identify } from "./processes.ts";
import type { Listening } from "./serve.ts";

/** Says in `daemon.json` who serves this home; information for clients, never a proof. */
export async function writeDaemonFile(
  environment: Environment,
  listening: Pick<Listening, "port" | "socket_path">,
): Promise<void> {
  const file = {
    ...(identify(process.pid) ?? { pid: process.pid, start_time: "" }),
    port: listening.port,
    version: VERSION,
    started_at: new Date(environment.now()).toISOString(),
    socket: listening.socket_path,
    instance: environment.id(),
  };
  const path = join(environment.home, "daemon.json");
  const temporary = `${path}.${file.instance}`;
  await writeFile(temporary, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600, flag: "wx" });
  await rename(temporary, path);
}

/** The daemon of this home has ended. */
export async function removeDaemonFile(home: string): Promise<void> {
  await rm(join(home, "daemon.json"), { force: true });
}
