import { isAbsolute } from "node:path";
import { type NativeCall, recordedName } from "../actions/submit/native.ts";
import type { Action } from "../actions/schema.ts";
import { type GateToolName, TOOL_NAMES, TOOLS } from "../actions/tools.ts";
import type { Caller } from "../auth/schema.ts";
import { sha256 } from "../db/chain.ts";
import type { Daemon } from "../daemon.ts";
import { GateError } from "../errors.ts";
import type { HookCall } from "../hosts/hook_input.ts";
import { GO_ON, type HostHooks } from "../hosts/host.ts";
import { hooksOf } from "../hosts/hosts.ts";
import type { Project } from "../projects/project.ts";
import { selfCommand } from "../runtime/self.ts";
import type { OpenSession } from "../sessions/sessions.ts";
import { findPlace } from "./place.ts";
import type { HookInput, HookQuery } from "./schema.ts";
import { usesOf } from "./uses.ts";

/** The answer to a host. */
export interface HookAnswer {
  output: Record<string, unknown>;
  /** The id of the action when it is still held. */
  held: string | null;
}

/** The caller of a hook, and the daemon that answers. */
export interface HookContext {
  daemon: Daemon;
  host: string;
  query: HookQuery;
  caller: Caller;
  /** Aborted when the hook's process no longer waits. */
  gone?: AbortSignal;
}

const WAIT_MS = 20_000;

/** The MCP tools that do not submit an action of the same name. */
const OTHER_TOOLS = [
  "scenario_run",
  "await_action",
  "get_action",
  "rollback_action",
  "policy_check",
  "project_info",
] as const;

/** The name of a tool of gate's MCP server. */
export type OwnTool = GateToolName | (typeof OTHER_TOOLS)[number];

/** The gate's own MCP tools. Hooks let them pass, because `submit()` evaluates their actions. */
export const OWN_TOOLS: ReadonlySet<string> = new Set([
  ...TOOL_NAMES.filter((name) => !TOOLS[name].undoes && !TOOLS[name].takes_over),
  ...OTHER_TOOLS,
]);

/**
 * Answers one hook of a host in the host's own shape. Any error is a refusal.
 * @throws GateError `not_found` for a host without hooks
 */
export async function answerHook(input: HookInput, context: HookContext): Promise<HookAnswer> {
  const hooks = hooksOf(context.host);
  if (!hooks) {
    throw new GateError(
      "not_found",
      `Cannot answer the hook: gate has no hooks for "${context.host}"`,
    );
  }
  try {
    return await answerCall(input, hooks, context);
  } catch (error) {
    const isPublic = error instanceof GateError && error.code !== "internal";
    if (!isPublic) context.daemon.log("error", "Cannot answer a hook", { error: String(error) });
    const cause = isPublic
      ? error.message
      : "gate could not evaluate the call; gate daemon logs shows the error";
    return { output: hooks.deny(`Blocked by gate: ${cause}`), held: null };
  }
}

/** Evaluates one call: lets it go on, replaces its command, or denies it. Records outcomes. */
async function answerCall(
  input: HookInput,
  hooks: HostHooks,
  context: HookContext,
): Promise<HookAnswer> {
  const goOn = { output: GO_ON, held: null };
  const call = readFromHost(() => hooks.read(input, ownServer()), "Cannot read the hook's input");
  if (call === null || isOwnTool(call)) return goOn;
  if (!isAbsolute(call.cwd) || call.cwd.includes("\0")) {
    throw new GateError(
      "invalid",
      'Cannot read the hook\'s input: its "cwd" is not an absolute path',
    );
  }
  const native = readFromHost(() => toNative(call, hooks, context.host), `"${call.tool}"`);
  const place = await findPlace(context.daemon, native, context.query.project_dir);
  const session = await joinSession(place, call, context);
  if (call.event === "after") {
    await reportOutcome(place.project, session, withAgentsInput(call, context), context);
    return goOn;
  }
  const wait_ms = context.query.wait_ms ?? WAIT_MS;
  const { actions } = place.project;
  const { gone } = context;
  const how = { session, wait_ms, ...gone && { gone } };
  const shell = await shellOf(place.project, session, { native, call, hooks });
  const { host_shells } = context.daemon;
  const can_wall = shell !== null && host_shells.isAble(shell) === true;
  const action = await actions.submitNative({ ...native, can_wall }, how, context.caller);
  if (action === null) return goOn;
  if (action.execution !== "running") return toRefusal(action, hooks);
  if (action.decision.sandbox && !can_wall) {
    const why = "it may run only in the sandbox, and its host does not take the command of gate";
    const outcome = { failed: true, exit_code: null, output: null, error: why, duration_ms: null };
    await reportOutcome(
      place.project,
      session,
      { call: { ...call, outcome }, is_ours: true },
      context,
    );
    return { output: hooks.deny(`Blocked by gate: ${why}; use the tool run_command`), held: null };
  }
  return await replaceCommand(action, shell, { actions, host_shells, call, hooks }) ?? goOn;
}

/**
 * The key of the shell in which gate can replace this command; null if the host accepts no
 * replacement here, or if there is no sandbox.
 */
async function shellOf(
  { config }: Project,
  session: OpenSession,
  { native: { uses }, call, hooks: { rewriting } }: {
    native: NativeCall;
    call: HookCall;
    hooks: HostHooks;
  },
): Promise<string | null> {
  if (!rewriting?.tools.includes(call.tool) || call.server !== null) return null;
  if (rewriting.only_unasked && call.is_unasked !== true) return null;
  const isPlain = uses.length === 1 && uses[0]!.is === "command" &&
    typeof call.input.command === "string";
  const { compiled, around } = await config.inForce();
  if (!isPlain || !around.sandbox || compiled.sandbox.mode === "off") return null;
  return JSON.stringify([session.id, call.tool]);
}

/**
 * The answer that replaces an allowed command by one of gate, which runs it in the sandbox or shows
 * whether the host accepts a replacement. Null if the command runs unchanged.
 */
async function replaceCommand(
  { id, project_id, decision: { sandbox } }: Action,
  shell: string | null,
  { actions, host_shells, call, hooks }: {
    actions: Project["actions"];
    host_shells: Daemon["host_shells"];
    call: HookCall;
    hooks: HostHooks;
  },
): Promise<HookAnswer | null> {
  const able = shell === null ? false : host_shells.isAble(shell);
  if (shell === null || able === false) return null;
  const is_trial = able === null;
  if (!is_trial && !sandbox && !await actions.belongsBehind(id)) return null;
  const command = host_shells.replace({
    ...{ project_id, action_id: id, shell, is_trial },
    command: String(call.input.command),
  });
  return { output: hooks.rewriting!.answer({ ...call.input, command }), held: null };
}

function toRefusal(action: Action, hooks: HostHooks): HookAnswer {
  if (action.status === "pending") {
    return { output: hooks.deny(heldText(action)), held: action.id };
  }
  return { output: hooks.deny(refusalText(action)), held: null };
}

/** The text for an agent whose call is held. */
function heldText({ id, decision: { reason } }: Action): string {
  return `Held by gate (action ${id}): ${reason}. A person has to decide; nothing was done. ` +
    "Ask again with exactly the same call: once it is approved it goes through, one time.";
}

/** The text for an agent whose call is refused: the rule, the reason and the alternative. */
function refusalText(action: Action): string {
  const { id, status, reason, decision, error } = action;
  const { rule, alternative } = decision;
  if (status === "rejected") {
    return `Rejected by a person (action ${id})${
      reason ? `: ${reason}` : ""
    }. Do not try it again.`;
  }
  if (status === "blocked") {
    const where = rule ? ` (rule "${rule.pattern}" in ${rule.list})` : "";
    const instead = alternative ? ` Instead: ${alternative}` : "";
    return `Blocked by gate: ${decision.reason}${where}.${instead} (action ${id})`;
  }
  if (status === "expired") return `Nobody decided in time on action ${id}: ${decision.reason}`;
  return `Blocked by gate: action ${id} is ${status}${error ? `: ${error}` : ""}`;
}

/** True for a call of our MCP server, which submits it itself, so that a person reviews it once. */
function isOwnTool({ server }: HookCall): boolean {
  return server !== null && server.is_ours !== false && OWN_TOOLS.has(server.tool);
}

function ownServer() {
  const { command, args } = selfCommand();
  return { command, args: [...args, "mcp"] };
}

function toNative(call: HookCall, hooks: HostHooks, host: string): NativeCall {
  const { tool, input, cwd, key } = call;
  const isNative = call.server === null && Object.hasOwn(hooks.tools, tool);
  const kind = isNative ? hooks.tools[tool]! : null;
  const uses = kind === null || call.event === "after"
    ? []
    : usesOf(kind, input, { cwd, folder_keys: hooks.folder_keys });
  return { host, tool, input, cwd, uses, key: shortKey(key), is_quiet: kind === "quiet" };
}

/** The session with the host's id; its first call opens it. */
async function joinSession(
  { project, root, rule }: { project: Project; root: string; rule: string },
  { session }: HookCall,
  { daemon, host, caller }: HookContext,
): Promise<OpenSession> {
  const id = session.length > 200 ? sha256(session) : session;
  const client = `hook ${id}`;
  const home_project = await daemon.homes.bind(host, id, project.id);
  return await project.sessions.join(
    { named: id, agent: host, host, client, root, detected_by: rule, home_project },
    caller,
  );
}

/** Records the outcome of a call that the host has made. */
async function reportOutcome(
  { actions }: Project,
  session: OpenSession,
  { call, is_ours }: Reported,
  { host, caller, daemon: { host_shells } }: HookContext,
): Promise<void> {
  const is_bare = (id: string) => {
    const ticket = host_shells.untaken(id);
    if (ticket) host_shells.note(ticket.shell, false);
    return ticket?.is_trial === false && !is_ours;
  };
  const which = {
    session_id: session.id,
    tool: recordedName(host, call.tool),
    input_sha256: sha256(JSON.stringify(call.input)),
    key: shortKey(call.key),
  };
  await actions.reportNative(which, { outcome: call.outcome!, is_bare }, caller);
}

/** A call with its outcome. */
interface Reported {
  call: HookCall;
  /** The host ran the command of gate instead of the agent's. */
  is_ours: boolean;
}

/** The call with the agent's own command, because a host reports the command that it ran. */
function withAgentsInput(call: HookCall, { daemon: { host_shells } }: HookContext): Reported {
  const ticket = host_shells.ticketIn(call.input.command);
  if (ticket === null) return { call, is_ours: false };
  return { call: { ...call, input: { ...call.input, command: ticket.command } }, is_ours: true };
}

/** The host's key of a call, if it is short enough to record. */
function shortKey(key: string | null): string | null {
  return key === null || key.length > 200 ? null : key.replaceAll("\0", "").toWellFormed();
}

/** Returns what `read` returns. @throws GateError `invalid` for an input that it cannot read */
function readFromHost<T>(read: () => T, what: string): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof GateError) throw error;
    throw new GateError("invalid", `${what}: ${(error as Error).message}`);
  }
}
