import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import process from "node:process";
import { createInterface } from "node:readline";
import { DENO } from "../../deno_folder.ts";
import { CERTIFICATE, KEY } from "./certificate.ts";

/** The times between check and set of the vulnerable twins. */
export const WINDOWS = ["tick", "300us", "1ms", "5ms"] as const;
export type Window = typeof WINDOWS[number];

export const RUNTIMES = { node: ["node"], deno: [DENO, "run", "--allow-all"] } as const;

/** True if the runtime is installed. The whole suite needs both. */
export function isAtHand(runtime: keyof typeof RUNTIMES): boolean {
  return spawnSync(RUNTIMES[runtime][0], ["--version"]).status === 0;
}

/** The URLs of running twins over HTTP/1.1 and over TLS with HTTP/2. */
export interface Twins {
  plain: string;
  secure: string;
  stop: () => Promise<void>;
}

/** Starts the twins in a separate process. */
export async function startTwins(runtime: keyof typeof RUNTIMES): Promise<Twins> {
  const [program, ...args] = RUNTIMES[runtime];
  const file = fileURLToPath(new URL("twin_server.mjs", import.meta.url));
  const env = { ...process.env, TWIN_KEY: KEY, TWIN_CERT: CERTIFICATE };
  const child = spawn(program, [...args, file], { env, stdio: ["pipe", "pipe", "inherit"] });
  const { plain, secure } = JSON.parse(await firstLine(child));
  return {
    plain: `http://127.0.0.1:${plain}`,
    secure: `https://127.0.0.1:${secure}`,
    stop: () =>
      new Promise((resolve) => {
        child.once("exit", () => resolve());
        child.stdin!.end();
      }),
  };
}

/** Formats a detection rate, such as `19 of 20 (95 %)`. */
export function rate(caught: number, rounds: number): string {
  return `${caught} of ${rounds} (${Math.round((100 * caught) / rounds)} %)`;
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    createInterface(child.stdout!).once("line", resolve);
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`The twins ended with ${code}`)));
  });
}
