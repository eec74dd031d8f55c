import type { PLATFORMS } from "../init/choices.ts";
import type { TextEditor } from "./edit/text_editor.ts";
import type { Machine } from "./machine.ts";

export type Platform = (typeof PLATFORMS)[number];

/** An agent host: where its MCP servers are written down, and how an entry looks there. */
export interface Host {
  id: Platform;
  name: string;
  /** Its program, if it has one on PATH. */
  program: string | null;
  editor: TextEditor;
  /** Where the servers stand in its documents. */
  servers: readonly string[];
  /** Its config files of this user, the usual one first. */
  files(machine: Machine): HostFile[];
  /** More config files of this user that it reads; old entries may stand there. */
  also?(machine: Machine): string[];
  /** Its config files in a project, relative to the root. */
  project_files: readonly string[];
  entry(launch: Launch): Entry;
  /** What a person has to do before it takes effect. */
  afterwards: string;
}

/** A config file that the host reads if it is there. */
export interface HostFile {
  path: string;
  /** What exists when this host is in use here. */
  sign: string;
}

/** How hosts start our MCP server. */
export interface Launch {
  command: string;
  args: string[];
  env: Record<string, string>;
}

/** An entry in two parts: what has to be so, and what a person may have set otherwise. */
export interface Entry {
  must: Record<string, unknown>;
  once: Record<string, unknown>;
  /** The key under which environment variables stand. */
  env_key: string;
}

/** How long a host shall wait for a call: people take their time. */
export const CALL_TIMEOUT_MS = 3_600_000;

/** The entry that most hosts take: command, arguments, environment. */
export function commonEntry({ command, args }: Launch, once: Record<string, unknown> = {}): Entry {
  return { must: { command, args }, once, env_key: "env" };
}
