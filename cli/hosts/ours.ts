import { selfCommand } from "../../server/runtime/self.ts";
import type { Place } from "../place.ts";
import { DEFAULT_PORT } from "../../server/constants.ts";
import { isRecord } from "./edit/text_editor.ts";
import type { Launch } from "./host.ts";
import type { Machine } from "./machine.ts";
import { join } from "node:path";

/** The name of the one entry that serves every project. */
export const SERVER_NAME = "gate";

/** Environment variables of an entry that are ours to set and to take away. */
export const OWN_VARIABLES = ["GATE_HOME", "GATE_PORT"] as const;

/** How hosts shall start this very program. Home and port are passed on where they are not the usual. */
export function launchOf(machine: Machine, place: Place): Launch {
  const { command, args } = selfCommand();
  const env: Record<string, string> = {};
  if (place.home !== join(machine.home, ".gate")) env.GATE_HOME = place.home;
  if (place.port !== DEFAULT_PORT) env.GATE_PORT = String(place.port);
  return { command, args: [...args, "mcp"], env };
}

/** Whether an entry starts an MCP server of gate, by whatever way it was installed. */
export function isOurs(entry: unknown): boolean {
  return gateArguments(wordsOf(entry)) !== null;
}

/** Whether an entry is one of those that served a single project, before there was one for all. */
export function isOldEntry(name: string, entry: unknown, scope: "user" | "project"): boolean {
  const args = gateArguments(wordsOf(entry));
  if (args === null) return false;
  if (/^gate-[\w.-]+$/.test(name)) return true;
  // Where a host prefers a project's entry, this one would hide the entry for all projects.
  return name === SERVER_NAME && scope === "project" &&
    args.some((word) => /^--project(=|$)/.test(word));
}

/** The words an entry is started with; none for a server that is reached over the network. */
export function wordsOf(entry: unknown): string[] {
  if (!isRecord(entry)) return [];
  const { command, args } = entry;
  const words = [...[command].flat(), ...(Array.isArray(args) ? args : [])];
  return words.every((word) => typeof word === "string") ? words as string[] : [];
}

/** What follows `mcp` in a command line of gate; null for every other one. */
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

/** Without the programs that only start another one. */
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
