/** One call of a host's tool, before or after it runs, in the same shape for every host. */
export interface HookCall {
  event: "before" | "after";
  /** The host's id of its session. */
  session: string;
  cwd: string;
  /** The tool under the host's name. */
  tool: string;
  input: Record<string, unknown>;
  /** The host's id of this call, or null. */
  key: string | null;
  /** The MCP server behind the tool; null for a tool of the host. */
  server: McpServer | null;
  /** Null before the tool ran. */
  outcome: Outcome | null;
  /** The host asks its own user nothing about this call; null if it does not say. */
  is_unasked?: boolean;
}

export interface McpServer {
  /** The tool under the server's name. */
  tool: string;
  /** Whether gate registered this server; null when only its name says so. */
  is_ours: boolean | null;
}

/** The outcome of a tool as its host reports it. */
export interface Outcome {
  failed: boolean;
  exit_code: number | null;
  output: string | null;
  error: string | null;
  duration_ms: number | null;
}

/**
 * How gate reads the input of a tool. A `list` shows only the names in a folder, a `search` also the
 * contents of its files. A `quiet` tool touches only the conversation.
 */
export type ToolKind =
  | "command"
  | "write"
  | "edit"
  | "delete"
  | "read"
  | "read_many"
  | "list"
  | "search"
  | "patch"
  | "notebook"
  | "text_editor"
  | "quiet";

/** The command that starts the MCP server that gate registered. */
export interface OwnServer {
  command: string;
  args: string[];
}

/** The error of a failed tool whose host gives no reason. */
export const NO_REASON = "Its host says that it failed";

/** A text of the input. @throws Error when it is missing */
export function textIn(raw: Record<string, unknown>, name: string): string {
  const value = raw[name];
  if (typeof value === "string" && value !== "") return value;
  throw new Error(`its "${name}" is missing`);
}

/** An object of the input, which some hosts send as JSON text. @throws Error for anything else */
export function objectIn(raw: Record<string, unknown>, name: string): Record<string, unknown> {
  const given = raw[name];
  const value = typeof given === "string" && given !== "" ? parsed(given, name) : given ?? {};
  if (isObject(value)) return value;
  throw new Error(`its "${name}" is not an object`);
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A text that is not empty, or null. */
export function textOrNull(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

/** A whole number from 0 on, or null. */
export function countOrNull(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) && value >= 0
    ? Math.round(value)
    : null;
}

/** The signed 32-bit exit code that the pattern captures in a text, or null. */
export function exitCodeIn(text: string | null, pattern: RegExp): number | null {
  const found = text === null ? undefined : pattern.exec(text)?.[1];
  const code = found === undefined ? NaN : Number(found);
  return Number.isInteger(code) && Math.abs(code) < 2 ** 31 ? code : null;
}

function parsed(text: string, name: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`its "${name}" is not JSON`);
  }
}
