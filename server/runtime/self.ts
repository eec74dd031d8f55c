import { existsSync, realpathSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
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
  if (IS_BUNDLE) return { command, args: [fileURLToPath(new URL("gate.mjs", import.meta.url))] };
  const main = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));
  if ("Deno" in globalThis) return { command, args: [...DENO_RUN, main] };
  if ("Bun" in globalThis) return { command, args: ["run", main] };
  // Node cannot run the source. What is shipped starts four times as fast as the bundle.
  const [shipped, bundle] = ["bin/gate", "node/gate.mjs"].map((path) =>
    fileURLToPath(new URL(`../../dist/${path}`, import.meta.url))
  );
  return existsSync(shipped!) ? { command: shipped!, args: [] } : { command, args: [bundle!] };
}

/** How the relay of a sandbox starts: `{}` stands for the folder in which its files are shown. */
export interface RelayStart {
  files: { name: string; from: string }[];
  words: string[];
}

/** The start of the relay by this program; null if it cannot be shown in a sandbox. */
export function relayStart(): RelayStart | null {
  const { command, args } = selfCommand();
  const program = { name: "program", from: command };
  if (args.length === 0) return { files: [program], words: ["{}/program", "sandbox-relay"] };
  if ("Deno" in globalThis || "Bun" in globalThis) {
    const files = ["relay.ts", "relay_main.ts"].map((name) => (
      { name, from: fileURLToPath(new URL(name, import.meta.url)) }
    ));
    const run = "Deno" in globalThis ? "run -A --no-config --no-lock --cached-only" : "run";
    return { files: [program, ...files], words: ["{}/program", run, "{}/relay_main.ts"] };
  }
  const name = "relay.mjs";
  const bundle = { name, from: join(dirname(args[0]!), name) };
  if (!existsSync(bundle.from)) return null;
  return { files: [program, bundle], words: ["{}/program", `{}/${name}`] };
}

/**
 * The words that start this program as the process that restricts itself; null where it cannot: Node
 * makes no system calls.
 */
export function selfConfine(): string[] | null {
  const { command, args } = selfCommand();
  if (args.length === 0) return [command, "sandbox-confine"];
  const main = fileURLToPath(new URL("confine_main.ts", import.meta.url));
  if ("Deno" in globalThis) {
    return [command, "run", "-A", "--no-config", "--no-lock", "--cached-only", main];
  }
  return "Bun" in globalThis ? [command, "run", main] : null;
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
