import type { ProcessTable } from "./processes.ts";
import { runQuietly } from "./run_quietly.ts";

/** macOS and other Unixes: `ps` and `lsof`. */
export const POSIX: ProcessTable = {
  startTime: (pid) => ps(pid, "lstart="),
  command: (pid) => ps(pid, "command="),
  listener(port) {
    const text = runQuietly("lsof", ["-nP", `-iTCP:${port}`, "-sTCP:LISTEN", "-Fp"]);
    const pid = /^p(\d+)$/m.exec(text ?? "")?.[1];
    return pid ? Number(pid) : null;
  },
};

function ps(pid: number, field: string): string | null {
  return runQuietly("ps", ["-o", field, "-p", String(pid)])?.trim() || null;
}
