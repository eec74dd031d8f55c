import { execFile } from "node:child_process";
import type { Io } from "../io.ts";

/** What a program of the system answered; a code of null means that it could not be started. */
export interface Called {
  code: number | null;
  stdout: string;
  stderr: string;
}

const TIMEOUT_MS = 60_000;

/** Calls a program of the system, in English. */
export function call(env: Io["env"], program: string, args: string[]): Promise<Called> {
  const options = { env: { ...env, LC_ALL: "C" }, timeout: TIMEOUT_MS, encoding: "utf8" as const };
  return new Promise((resolve) => {
    const child = execFile(program, args, options, (error, stdout, stderr) => {
      const code = error ? typeof error.code === "number" ? error.code : null : 0;
      resolve({ code, stdout, stderr });
    });
    child.stdin?.end();
  });
}
