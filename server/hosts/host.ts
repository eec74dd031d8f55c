import type { HookCall, OwnServer, ToolKind } from "./hook_input.ts";

/**
 * One agent host: everything that gate knows about it. A record holds data and pure functions,
 * without I/O, so the daemon, the policy and the command line read the same one.
 */
export interface AgentHost {
  /** Platform id, in options, URLs and the ledger. */
  id: string;
  /** Its name for people. */
  name: string;
  /** Its program on PATH, or null. */
  program: string | null;
  /** The names that it gives itself as an MCP client, in lower case. */
  client_names: readonly string[];
  /** Reads the folders that it works in from the `_meta` of a tool call. */
  workspaces?: (meta: Record<string, unknown>) => string[];
  mcp: McpSettings;
  instructions: InstructionFiles;
  /** Paths that an agent writes only after a person approved it. */
  protected_paths: readonly ProtectedPath[];
  /**
   * Files and folders in the user's home from which it loads code and instructions, and which it does
   * not write by itself. gate compares them around every command.
   */
  loads: readonly string[];
  /** Null for a host without hooks. */
  hooks: HostHooks | null;
}

/** A host with hooks. */
export type HookedHost = AgentHost & { hooks: HostHooks };

/** A path pattern of policy, and the reason that the reviewer reads. */
export type ProtectedPath = readonly [pattern: string, reason: string];

/** Reasons that several hosts share. */
export const SETTINGS = "An agent host's settings";
export const SERVER_LIST = "An agent host's server list";
export const EDITOR_SETTINGS = "Editor tasks and settings run code";

/** Comments are allowed in `jsonc` and `json-with-comments`, trailing commas only in `jsonc`. */
export type Format = "json" | "jsonc" | "json-with-comments" | "toml";

export type Os = "darwin" | "linux" | "win32";

/**
 * A file of the user. Its path begins with `~`, with `{APP_DATA}` (the folder in which desktop
 * programs keep their data) or with a variable and its default, such as `{CODEX_HOME|~/.codex}`.
 */
export interface UserFile {
  /** One segment may hold a `*`: each match whose `sign` exists is a file. */
  path: string;
  /** Another name of the file: gate uses the name that exists, else `path`. */
  or?: string;
  /** The path that exists when the host is in use; its folder by default. */
  sign?: string;
  /** Only on these systems. */
  os?: readonly Os[];
}

/** Where a host lists its MCP servers, and how gate's entry looks there. */
export interface McpSettings {
  format: Format;
  /** The top-level key that holds the servers, taken literally: a dot is part of the name. */
  key: string;
  /** The key of the user's file that holds settings of single projects, by their folders. */
  projects_key?: string;
  /** Its files of one user, the usual one first. */
  user_files: readonly UserFile[];
  /** Its files in a project, relative to the root. */
  project_files: readonly string[];
  entry: McpEntry;
  /**
   * Arguments with which its program writes the entry itself; `{entry}` stands for the entry as
   * JSON. For a host that rewrites its whole file while it runs.
   */
  own_commands?: { add: readonly string[]; remove: readonly string[] };
  /** The next step for a person. */
  afterwards: string;
}

export interface McpEntry {
  /** Keys that a new entry gets; an existing entry keeps the values that a person set. */
  once?: Record<string, unknown>;
  /** The command and its arguments are one list under `command`. */
  command_is_list?: true;
  /** The key that holds environment variables; `env` by default. */
  env_key?: string;
}

/** How long a host waits for one tool call, because people take their time. */
export const CALL_TIMEOUT_MS = 3_600_000;

/** The instruction files of a host in a project. */
export interface InstructionFiles {
  /** The file that it reads first; null when it reads none. */
  file: string | null;
  /** Files that gate updates where they exist, but never creates. */
  also?: readonly string[];
  /** Paths in a project that show that somebody uses this host there. */
  signs: readonly string[];
}

/** The instruction file that most hosts read. */
export const COMMON_INSTRUCTIONS = "AGENTS.md";

/** The hooks of a host: how its settings name gate, what it sends, and how it reads the answer. */
export interface HostHooks {
  settings: HookSettings;
  /** Reads one input; null for an event that gate ignores. @throws Error for unreadable input */
  read(raw: Record<string, unknown>, ours: OwnServer): HookCall | null;
  /** The answer that stops the tool. */
  deny(text: string): Record<string, unknown>;
  /** Its own tools by name. */
  tools: Record<string, ToolKind>;
  /** The keys by which its command tool names a working folder. */
  folder_keys: readonly string[];
  /** How it lets a hook replace a command; null if it does not, or if nobody has tried it. */
  rewriting: Rewriting | null;
  /** Makes the inputs that this host sends for one command, for `gate doctor --prove`. */
  canary(call: CanaryCall): { before: object; after: object };
}

/** How a host runs another command than the one that its agent sent. */
export interface Rewriting {
  /** Its command tools for which this was tried. */
  tools: readonly string[];
  /**
   * Only where the host says that it asks its own user nothing. Its own rules about texts would see
   * the other command, and its questions would show it.
   */
  only_unasked: boolean;
  /** The answer that makes the host run the tool with this input. */
  answer(input: Record<string, unknown>): Record<string, unknown>;
}

/** The answer that lets a host go on as configured. */
export const GO_ON = {};

/** One command of a host's own command tool. */
export interface CanaryCall {
  id: string;
  cwd: string;
  command: string;
}

/** How long a host waits for `gate hook`, in seconds: longer than gate's own deadline. */
export const HOOK_TIMEOUT_S = 300;
const REPORT_TIMEOUT_S = 30;

/** Where a host lists its hooks, and how gate's hook looks there. */
export interface HookSettings {
  format: Format;
  user_file: UserFile;
  /** Its file in a project, relative to the root. */
  project_file: string;
  /** Keys that the file needs beside the hooks. */
  frame: Record<string, unknown>;
  /** Hooks are in groups with a matcher. */
  is_grouped: boolean;
  events: readonly HookEvent[];
  /** The keys of a hook that starts this command line. */
  entry(command: string, os: Os): Record<string, unknown>;
  /** The shell that runs the command line on Windows; null if it is not known. */
  shell_on_windows: "cmd" | "powershell" | null;
  /** Keys by which the host refuses a tool when the hook before it fails. */
  fail_closed?: Record<string, unknown>;
  timeout: { key: string; unit: "s" | "ms" };
  /** Its settings in the user's home. Outside of all projects no agent may change them. */
  guarded_paths: readonly string[];
  /** The folder that holds them: deleting it would delete the settings. */
  guarded_folder: string;
  /** The next step for a person. */
  afterwards: string;
}

/** An event that gate answers. Before a tool a failure refuses; after it, gate only records. */
export interface HookEvent {
  name: string;
  is_before: boolean;
}

export const before = (name: string): HookEvent => ({ name, is_before: true });
export const after = (name: string): HookEvent => ({ name, is_before: false });

/** How long the host waits for the answer to this event, in seconds. */
export function timeoutOf({ is_before }: HookEvent): number {
  return is_before ? HOOK_TIMEOUT_S : REPORT_TIMEOUT_S;
}
