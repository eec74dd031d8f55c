import { isAbsolute, sep } from "node:path";
import { sha256 } from "../../db/chain.ts";
import { GateError } from "../../errors.ts";
import { resolvePath } from "../../runtime/real_path.ts";
import type { Access, Asked } from "../plan.ts";
import { redactInput } from "../redact_input.ts";
import { GateTool } from "../schema.ts";
import { resolveTarget } from "../target.ts";

/** One thing that a host's own tool is about to do, as far as its input tells. */
export type Use =
  | { is: "command"; command: string; cwd: string }
  | { is: "read"; path: string }
  | { is: "delete"; path: string }
  | {
    is: "write";
    path: string;
    /** Where the old text stands, for what is moved. */
    from: string;
    /** The new text out of the old one; null where only the host knows. */
    make: (old: string | null) => string | null;
  };

/** A call of a host's own tool: the gate decides and records, the host carries out. */
export interface NativeCall {
  host: string;
  /** As the host calls it. */
  tool: string;
  input: Record<string, unknown>;
  /** Where relative paths start: absolute. */
  cwd: string;
  uses: Use[];
  /** The host's own name of this one call. */
  key: string | null;
  /** Touches nothing beyond the conversation: recorded only where a rule speaks of it. */
  is_quiet: boolean;
}

const MAX_COMMAND_BYTES = 128 * 1024 - 1;
const MAX_FILES = 500;

/** What such a call asks for. @throws GateError `invalid` where nobody could tell what it means */
export function readNative(call: NativeCall, root: string, id: string): Asked {
  const { uses, input } = call;
  if (!/^[\x21-\x7e]{1,256}$/.test(call.tool)) {
    throw new GateError("invalid", "Cannot record the tool: its name is not plain ASCII");
  }
  const commands = uses.filter((use) => use.is === "command");
  if (commands.length > 1 || uses.length > MAX_FILES) {
    throw new GateError("invalid", `Cannot judge "${call.tool}": it does too much at once`);
  }
  const [command] = commands;
  const accesses = accessesOf(call, root);
  return {
    tool: recordedName(call.host, call.tool),
    path: accesses[0]?.target.shown ?? null,
    command: command ? plainCommand(command.command) : null,
    cwd: command ? resolvePath(command.cwd).real : null,
    accesses,
    input: redactInput(input),
    input_sha256: sha256(JSON.stringify(input)),
    native: { id, key: call.key, new_folders: [] },
  };
}

/** A host's tool never passes for one that the gate carries out itself. */
export function recordedName(host: string, tool: string): string {
  return GateTool.safeParse(tool).success ? `${host}:${tool}` : tool;
}

/** The absolute path that a host means by one in its input. */
export function absolute(path: string, cwd: string): string {
  return isAbsolute(path) ? path : `${cwd}${cwd.endsWith(sep) ? "" : sep}${path}`;
}

function accessesOf({ uses, cwd }: NativeCall, root: string): Access[] {
  const accesses: Access[] = [];
  for (const use of uses) {
    if (use.is === "command") continue;
    const path = use.is === "read" ? withoutTail(use.path, cwd) : absolute(use.path, cwd);
    // As it is written: what some reader might expand is refused.
    if (!isAbsolute(use.path) && use.is !== "read") resolveTarget(use.path, root);
    accesses.push({ access: use.is, target: resolveTarget(path, root) });
  }
  return accesses;
}

/** What is searched may be a folder: `.` and `src/` are names of such. */
function withoutTail(path: string, cwd: string): string {
  const whole = absolute(path, cwd).replace(/(?:[\\/]+\.?)+$/, "");
  return whole === "" ? sep : whole;
}

function plainCommand(command: string): string {
  if (!command.isWellFormed() || command.includes("\0")) {
    throw new GateError("invalid", "Cannot judge the command: it is not well-formed text");
  }
  if (new TextEncoder().encode(command).length > MAX_COMMAND_BYTES) {
    throw new GateError("invalid", "Cannot judge the command: it is longer than 128 KiB");
  }
  return command;
}
