/** What a host tells before or after one of its tools runs, the same for every host. */
export interface HookCall {
  event: "before" | "after";
  /** The host's own id of its session. */
  session: string;
  cwd: string;
  /** The tool as the host calls it. */
  tool: string;
  input: Record<string, unknown>;
  /** The host's own name of this one call, where it has one. */
  key: string | null;
  /** The MCP server behind the tool, as far as the host tells. */
  server: McpServer | null;
  outcome: Outcome | null;
}

export interface McpServer {
  /** The tool as the server calls it. */
  tool: string;
  /** Whether it is the one that gate registered; null where only the name tells. */
  is_ours: boolean | null;
}

/** What the host says came of it. */
export interface Outcome {
  failed: boolean;
  exit_code: number | null;
  output: string | null;
  error: string | null;
  duration_ms: number | null;
}

/** How a tool's input is read; `quiet` ones touch nothing beyond the conversation. */
export type Kind =
  | "command"
  | "write"
  | "edit"
  | "delete"
  | "read"
  | "search"
  | "patch"
  | "notebook"
  | "text_editor"
  | "quiet";

/** One host's hooks: its data in, its answer out. Nothing here is heavy: every call loads it. */
export interface HostHooks {
  /** Null for an event that the gate has no part in. @throws Error for what cannot be understood */
  read(raw: Record<string, unknown>, ours: OwnServer): HookCall | null;
  /** What the host reads as "go on as configured". */
  go_on: Record<string, unknown>;
  deny(text: string): Record<string, unknown>;
  tools: Record<string, Kind>;
  /** What its tools call the folder that a command runs in. */
  folders: readonly string[];
}

/** How the server that gate registered is started. */
export interface OwnServer {
  command: string;
  args: string[];
}

/** A text of the input. @throws Error where there is none */
export function textIn(raw: Record<string, unknown>, name: string): string {
  const value = raw[name];
  if (typeof value === "string" && value !== "") return value;
  throw new Error(`its "${name}" is missing`);
}

/** An object of the input; some hosts send it as its JSON text. @throws Error where it is none */
export function objectIn(raw: Record<string, unknown>, name: string): Record<string, unknown> {
  const given = raw[name];
  const value = typeof given === "string" && given !== "" ? parsed(given, name) : given ?? {};
  if (isObject(value)) return value;
  throw new Error(`its "${name}" is no object`);
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A text, or null where it is something else. */
export function textOrNull(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

/** A count that a record can keep, or null. */
export function countOrNull(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) && value >= 0
    ? Math.round(value)
    : null;
}

/** A signed 32-bit exit code after these words in a text, or null. */
export function exitCodeIn(text: string | null, words: RegExp): number | null {
  const found = text === null ? undefined : words.exec(text)?.[1];
  const code = found === undefined ? NaN : Number(found);
  return Number.isInteger(code) && Math.abs(code) < 2 ** 31 ? code : null;
}

function parsed(text: string, name: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`its "${name}" is no JSON`);
  }
}
