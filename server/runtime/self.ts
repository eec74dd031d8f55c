import { existsSync, realpathSync } from "node:fs";
import { delimiter, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { EMBEDDED, IS_BUNDLE } from "./embedded.ts";

/** A program and the arguments that precede those of the command. */
export interface SelfCommand {
  command: string;
  args: string[];
}

/** The pid of this process. */
export function ownPid(): number {
  return process.pid;
}

/** The number of the user of this process; null on Windows. The user may have no name. */
export function ownUid(): number | null {
  return process.getuid?.() ?? null;
}

/** The environment of this process. */
export function ownEnvironment(): Record<string, string | undefined> {
  return process.env;
}

/** Starts this program again: append the command's arguments to `args`. */
export function selfCommand(): SelfCommand {
  const command = process.execPath;
  if (EMBEDDED || isCompiledByDeno()) return { command, args: [] };
  if (IS_BUNDLE) return { command, args: [fileURLToPath(import.meta.url)] };
  const main = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));
  if ("Deno" in globalThis) return { command, args: [...DENO_RUN, main] };
  if ("Bun" in globalThis) return { command, args: ["run", main] };
  return { command, args: [fileURLToPath(new URL("../../dist/node/gate.mjs", import.meta.url))] };
}

/**
 * The words that start this program in a command line: `gate` when PATH leads to it, else its path.
 */
export function selfWords(env: Record<string, string | undefined>): string[] {
  const { command, args } = selfCommand();
  if (args.length > 0) return [command, ...args];
  const named = (env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, "gate"))
    .find((file) => existsSync(file));
  return named !== undefined && realpathSync(named) === realpathSync(command)
    ? ["gate"]
    : [command];
}

/** `--cached-only`: everything is installed, so a restart must not wait for a network. */
const DENO_RUN = ["run", "--cached-only", "--allow-all", "--no-prompt"];

function isCompiledByDeno(): boolean {
  const deno = (globalThis as { Deno?: { build?: { standalone?: boolean } } }).Deno;
  return deno?.build?.standalone === true;
}
