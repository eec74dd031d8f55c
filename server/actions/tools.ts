/** Who carries out an approved action. */
type Executor =
  /** This daemon. */
  | "gate"
  /** The process that claims the action. */
  | "claimer"
  /** The agent's host, with a tool of its own. */
  | "host"
  /** Unknown: the gate only records the action. */
  | "nobody";

/** How the gate treats one tool. */
export interface Tool {
  executor: Executor;
  /** Which field of an action names its object. A move names two paths. */
  shows: "path" | "two_paths" | "command" | "nothing";
  /** The one access of every call of the tool, for grants; null if it has none or several. */
  access: "read" | "write" | "delete" | "run" | null;
  /** The field that `approve-with-edit` replaces. */
  edits: "text" | "command" | null;
  /** How a held change is put onto another base: merge the texts, repeat the edits, keep the plan. */
  rebase: "merge" | "repeat" | "keep" | null;
  /** A rollback restores the planned files, or all effects that were found after the execution. */
  restores: "files" | "effects" | "nothing";
  /** Whether the tool itself undoes an earlier action. */
  undoes: boolean;
  /** Whether its input is a list of other actions, which a person approves together. */
  leases: boolean;
  /** Whether gate itself submits it: the changes that a command made to a copy of the project. */
  takes_over: boolean;
}

/** The gate's own tools. Every rule that depends on a tool reads this table. */
export const TOOLS = {
  write_file: file("write", { edits: "text", rebase: "merge" }),
  edit_file: file("write", { edits: "text", rebase: "repeat" }),
  delete_file: file("delete", { rebase: "keep" }),
  move_file: file(null, { shows: "two_paths", rebase: "keep" }),
  read_file: file("read", { restores: "nothing" }),
  run_command: {
    executor: "claimer",
    shows: "command",
    access: "run",
    edits: "command",
    rebase: null,
    restores: "effects",
    undoes: false,
    leases: false,
    takes_over: false,
  },
  rollback: file(null, { undoes: true }),
  submit_plan: file(null, { shows: "nothing", restores: "nothing", leases: true }),
  apply_changes: file(null, { shows: "nothing", takes_over: true }),
} as const satisfies Record<string, Tool>;

export type GateToolName = keyof typeof TOOLS;

/** The names of the table, in its order. */
export const TOOL_NAMES = Object.keys(TOOLS) as GateToolName[];

/** A host's own tool: the gate decides and records, the host executes. */
const NATIVE: Tool = { ...file(null, {}), executor: "host", shows: "nothing" };

/** Any other tool: the gate decides and records, and never learns how it ended. */
const UNKNOWN: Tool = { ...NATIVE, executor: "nobody", restores: "nothing" };

/** How the gate treats a tool; `native` marks a host's own tool, whatever its name. */
export function toolOf(name: string, native?: unknown): Tool {
  if (native !== undefined) return NATIVE;
  return isGateTool(name) ? TOOLS[name] : UNKNOWN;
}

/** Who executes an action. */
export function executorOf(
  { tool, plan }: { tool: string; plan: { native?: unknown } | null },
): Executor {
  return toolOf(tool, plan?.native).executor;
}

/** Whether a person approves every single call: no approval of it is remembered. */
export function asksEachTime(name: string): boolean {
  const { leases, takes_over } = toolOf(name);
  return leases || takes_over;
}

/** Whether the gate has a tool of this name itself. */
export function isGateTool(name: string): name is GateToolName {
  return Object.hasOwn(TOOLS, name);
}

/** The names of the gate's tools that pass the test, as a list for SQL's `IN (…)`. */
export function sqlNames(test: (tool: Tool) => boolean): string {
  return TOOL_NAMES.filter((name) => test(TOOLS[name])).map((name) => `'${name}'`).join(", ");
}

function file(access: Tool["access"], more: Partial<Tool>): Tool {
  return {
    executor: "gate",
    shows: "path",
    access,
    edits: null,
    rebase: null,
    restores: "files",
    undoes: false,
    leases: false,
    takes_over: false,
    ...more,
  };
}
