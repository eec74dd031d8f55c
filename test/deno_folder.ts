import { execFileSync } from "node:child_process";
import process from "node:process";

/** Deno itself. */
export const DENO = "Deno" in globalThis ? process.execPath : "deno";

/**
 * The environment in which Deno finds its packages from another HOME, under which it keeps them
 * otherwise; without it every test with a home of its own would download them.
 */
export function denoFolder(): { DENO_DIR: string } {
  return folder ??= { DENO_DIR: ask() };
}

let folder: { DENO_DIR: string } | undefined;

function ask(): string {
  return JSON.parse(execFileSync(DENO, ["info", "--json"]).toString()).denoDir;
}
