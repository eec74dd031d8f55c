import { join } from "node:path";
import { DEFAULT_PORT } from "../../server/constants.ts";
import { selfCommand } from "../../server/runtime/self.ts";
import type { Place } from "../place.ts";
import { isRecord } from "./edit/text_editor.ts";
import type { Machine } from "./machine.ts";

/** The name of the one entry that serves every project. */
export const SERVER_NAME = "gate";

/** Environment variables of an entry that gate sets and removes. */
export const OWN_VARIABLES = ["GATE_HOME", "GATE_PORT"] as const;

/** How hosts start our MCP server. */
export interface Launch {
  command: string;
  args: string[];
  env: Record<string, string>;
}

/** The launch of this very program, with home and port where they differ from the default. */
export function launchOf(machine: Machine, place: Place): Launch {
  const { command, args } = selfCommand();
  const env: Record<string, string> = {};
  if (place.home !== join(machine.home, ".gate")) env.GATE_HOME = place.home;
  if (place.port !== DEFAULT_PORT) env.GATE_PORT = String(place.port);
  return { command, args: [...args, "mcp"], env };
}

/** Whether an entry starts an MCP server of gate, however gate was installed. */
export function isOurs(entry: unknown): boolean {
  return gateArguments(wordsOf(entry)) !== null;
}

/** Whether an entry serves a single project, as before there was one entry for all projects. */
export function isOldEntry(name: string, entry: unknown, scope: "user" | "project"): boolean {
  const args = gateArguments(wordsOf(entry));
  if (args === null) return false;
  if (/^gate-[\w.-]+$/.test(name)) return true;
  // A host prefers a project's entry, so this one would hide the entry for all projects.
  return name === SERVER_NAME && scope === "project" &&
    args.some((word) => /^--project(=|$)/.test(word));
}

/** The command line of an entry as words; none for a server that is reached over the network. */
export function wordsOf(entry: unknown): string[] {
  if (!isRecord(entry)) return [];
  const { command, args } = entry;
  const words = [...[command].flat(), ...(Array.isArray(args) ? args : [])];
  return words.every((word) => typeof word === "string") ? words as string[] : [];
}

/** The words after `mcp` in a command line of gate; null for every other command line. */
function gateArguments(words: string[]): string[] | null {
  const [program = "", ...rest] = unwrapped(words);
  const name = baseName(program);
  if (/^gate(-(linux|darwin|windows|win32)[\w-]*)?(\.exe|\.cmd)?$/i.test(name)) {
    return afterMcp(rest);
  }
  const self = selfCommand();
  const isSelf = program === self.command || self.args.length > 0;
  if (isSelf && self.args.every((word, i) => rest[i] === word)) {
    return afterMcp(rest.slice(self.args.length));
  }
  if (!/^(node|bun|deno)(\.exe)?$/i.test(name)) return null;
  const script = rest.findIndex((word) => baseName(word) === "gate.mjs");
  return script < 0 ? null : afterMcp(rest.slice(script + 1));
}

function afterMcp(words: string[]): string[] | null {
  return words[0] === "mcp" ? words.slice(1) : null;
}

/** The words without programs that only start another program. */
function unwrapped(words: string[]): string[] {
  const [first = "", ...rest] = words;
  const name = baseName(first).replace(/\.(exe|cmd)$/i, "").toLowerCase();
  if (name === "cmd" && /^\/c$/i.test(rest[0] ?? "")) return unwrapped(rest.slice(1));
  if (name === "npx" || name === "bunx" || name === "pnpx") {
    return unwrapped(rest.slice(rest.findIndex((word) => !word.startsWith("-"))));
  }
  if (name !== "env") return words;
  const program = rest.findIndex((word) => !/^(-|\w+=)/.test(word));
  return program < 0 ? [] : unwrapped(rest.slice(program));
}

function baseName(path: string): string {
  return path.split(/[\\/]/).at(-1) ?? "";
}
