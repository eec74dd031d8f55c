import process from "node:process";
import { fileURLToPath } from "node:url";
import { EMBEDDED, IS_BUNDLE } from "./embedded.ts";

/** A program and the arguments that stand before those of the command. */
export interface SelfCommand {
  command: string;
  args: string[];
}

/** The pid of this process. */
export function ownPid(): number {
  return process.pid;
}

/** How to start this very program again: append the command's arguments to `args`. */
export function selfCommand(): SelfCommand {
  const command = process.execPath;
  if (EMBEDDED || isCompiledByDeno()) return { command, args: [] };
  if (IS_BUNDLE) return { command, args: [fileURLToPath(import.meta.url)] };
  const main = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));
  if ("Deno" in globalThis) return { command, args: [...DENO_RUN, main] };
  if ("Bun" in globalThis) return { command, args: ["run", main] };
  return { command, args: [fileURLToPath(new URL("../../dist/node/gate.mjs", import.meta.url))] };
}

/** Everything is installed by now: to start again must not need, or wait for, a network. */
const DENO_RUN = ["run", "--cached-only", "--allow-all", "--no-prompt"];

function isCompiledByDeno(): boolean {
  const deno = (globalThis as { Deno?: { build?: { standalone?: boolean } } }).Deno;
  return deno?.build?.standalone === true;
}
