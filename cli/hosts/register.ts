import { execFile } from "node:child_process";
import type { AgentHost } from "../../server/hosts/host.ts";
import { CliError } from "../errors.ts";
import { deleteLeftOver, saveHostFile } from "./created.ts";
import {
  backUp,
  type ConfigFile,
  openConfig,
  refuseReadOnly,
  retryOnConflict,
} from "./edit/config_file.ts";
import { type Change, editText, isRecord, valueAt } from "./edit/text_editor.ts";
import { EDITORS } from "./hosts.ts";
import { findProgram, type Machine } from "./machine.ts";
import { isOurs, type Launch, OWN_VARIABLES, SERVER_NAME } from "./ours.ts";

/** The change to one config file after which its host starts our server, or no longer does. */
export interface Registration {
  host: AgentHost;
  file: ConfigFile;
  outcome: "added" | "updated" | "removed" | "unchanged";
  /** The new text. */
  after: string;
  /** The new entry; null for a removal. */
  entry: Record<string, unknown> | null;
}

/** A config file after the registration. */
export interface Registered extends Registration {
  /** The program that changed the file, `file` when gate did; null when nothing changed. */
  via: string | null;
  backup: string | null;
}

interface Around {
  machine: Machine;
  /** The gate's home, for backups. */
  home: string;
}

/** Registers our server in a host's config file. @throws CliError and leaves the file as it was */
export function register(
  host: AgentHost,
  path: string,
  launch: Launch,
  around: Around,
): Promise<Registered> {
  return retryOnConflict(() => applyPlan(() => planRegistration(host, path, launch), around));
}

/** Removes our server from a host's config file. @throws CliError and leaves the file as it was */
export function unregister(host: AgentHost, path: string, around: Around): Promise<Registered> {
  return retryOnConflict(async () => {
    const done = await applyPlan(() => planRemoval(host, path), around);
    if (done.outcome === "removed") deleteLeftOver(path, around.home, host.mcp);
    return done;
  });
}

async function applyPlan(
  makePlan: () => Registration,
  { machine, home }: Around,
): Promise<Registered> {
  const plan = makePlan();
  if (plan.outcome === "unchanged") return { ...plan, via: null, backup: null };
  const { host, file } = plan;
  const backups = { home, label: host.id };
  const program = host.mcp.own_commands ? findOwnProgram(host, machine) : null;
  if (program !== null) {
    refuseReadOnly(file);
    const backup = file.sha256 === null ? null : backUp(file, backups);
    await runOwnCommands(program, plan, machine);
    // An exit code proves little, so the file decides.
    const now = makePlan();
    if (now.outcome === "unchanged") return { ...plan, via: host.program, backup };
    await saveHostFile(now.file, now.after, backups);
    return { ...plan, via: "file", backup };
  }
  return { ...plan, via: "file", backup: await saveHostFile(file, plan.after, backups) };
}

/** Plans the registration in a host's config file. @throws CliError when the file cannot be edited */
export function planRegistration(host: AgentHost, path: string, launch: Launch): Registration {
  const file = openConfig(path);
  const before = file.text ?? "";
  const editor = EDITORS[host.mcp.format];
  const at = [host.mcp.key, SERVER_NAME];
  const known = valueAt(editor.read(before, path), at);
  if (known !== undefined && !isOurs(known)) {
    throw new CliError(
      `Cannot register in "${path}": a server of another kind is called "${SERVER_NAME}" there`,
      { next: "give that server another name, then the same command" },
    );
  }
  const changes = known === undefined
    ? [{ path: at, value: newEntry(host, launch) }]
    : changesTo(host, launch, known as Record<string, unknown>, at);
  const outcome = known === undefined ? "added" : changes.length > 0 ? "updated" : "unchanged";
  if (changes.length > 0) refuseReadOnly(file);
  const after = changes.length > 0 ? editText(editor, before, changes, path) : before;
  const entry = valueAt(editor.read(after, path), at) as Record<string, unknown>;
  return { host, file, outcome, after, entry };
}

/** Plans the removal from a host's config file. @throws CliError when the file cannot be edited */
export function planRemoval(host: AgentHost, path: string): Registration {
  const file = openConfig(path);
  const before = file.text ?? "";
  const editor = EDITORS[host.mcp.format];
  const at = [host.mcp.key, SERVER_NAME];
  // A server of another program that is called "gate" stays.
  if (!isOurs(valueAt(editor.read(before, path), at))) {
    return { host, file, outcome: "unchanged", after: before, entry: null };
  }
  refuseReadOnly(file);
  const after = editText(editor, before, [{ path: at, value: undefined }], path);
  return { host, file, outcome: "removed", after, entry: null };
}

function newEntry({ mcp }: AgentHost, launch: Launch): Record<string, unknown> {
  const { once = {}, env_key = "env" } = mcp.entry;
  const { type, ...rest } = once;
  const env = Object.keys(launch.env).length > 0 ? { [env_key]: launch.env } : {};
  return { ...(type === undefined ? {} : { type }), ...commandOf(mcp, launch), ...rest, ...env };
}

function commandOf({ entry }: AgentHost["mcp"], { command, args }: Launch) {
  return entry.command_is_list ? { command: [command, ...args] } : { command, args };
}

/** Changes only our keys: a time-out or a switch that a person set stays. */
function changesTo(
  { mcp }: AgentHost,
  launch: Launch,
  known: Record<string, unknown>,
  at: readonly string[],
): Change[] {
  const { once = {}, env_key = "env" } = mcp.entry;
  const changes: Change[] = [];
  const want = (keys: string[], value: unknown, is: unknown) => {
    if (JSON.stringify(value) !== JSON.stringify(is)) {
      changes.push({ path: [...at, ...keys], value });
    }
  };
  for (const [key, value] of Object.entries(commandOf(mcp, launch))) want([key], value, known[key]);
  for (const [key, value] of Object.entries(once)) {
    if (known[key] === undefined) want([key], value, undefined);
  }
  const env = isRecord(known[env_key]) ? known[env_key] : {};
  for (const name of OWN_VARIABLES) want([env_key, name], launch.env[name], env[name]);
  return changes;
}

const COMMAND_TIMEOUT_MS = 30_000;

/** The host's program, unless only a shell could start it: JSON would not survive its quoting. */
function findOwnProgram({ program }: AgentHost, machine: Machine): string | null {
  const path = program === null ? null : findProgram(machine, program);
  return path?.endsWith(".cmd") ? null : path;
}

/** Has the host's program write the entry: a running session would overwrite gate's own edit. */
async function runOwnCommands(
  program: string,
  { host, outcome, entry }: Registration,
  { env, home: cwd }: Machine,
): Promise<void> {
  const { add, remove } = host.mcp.own_commands!;
  const options = {
    env: { ...env, DISABLE_AUTOUPDATER: "1" },
    cwd,
    timeout: COMMAND_TIMEOUT_MS,
  };
  const run = (args: readonly string[]) =>
    new Promise<void>((resolve) => execFile(program, args, options, () => resolve()).stdin?.end());
  if (outcome !== "added") await run(remove);
  if (entry) await run(add.map((one) => one === "{entry}" ? JSON.stringify(entry) : one));
}
