import { isAbsolute } from "node:path";
import { type NativeCall, recordedName } from "../actions/native/call.ts";
import type { Action } from "../actions/schema.ts";
import type { Caller } from "../auth/schema.ts";
import { sha256 } from "../db/chain.ts";
import type { Daemon } from "../daemon.ts";
import { GateError } from "../errors.ts";
import type { HookCall } from "../hosts/hook_input.ts";
import { GO_ON, type HostHooks } from "../hosts/host.ts";
import { hooksOf } from "../hosts/hosts.ts";
import type { Project } from "../projects/project.ts";
import { selfCommand } from "../runtime/self.ts";
import type { Session } from "../sessions/schema.ts";
import { OWN_TOOLS } from "./own_tools.ts";
import { outsideText } from "./outside.ts";
import { findPlace } from "./place.ts";
import type { HookInput, HookQuery } from "./schema.ts";
import { heldText, refusalText } from "./texts.ts";
import { usesOf } from "./uses.ts";

/** What a host is answered, and the action that a person has not decided on yet. */
export interface HookAnswer {
  output: Record<string, unknown>;
  held: string | null;
}

/** What a hook works with. */
export interface HookContext {
  daemon: Daemon;
  host: string;
  query: HookQuery;
  caller: Caller;
}

const WAIT_MS = 20_000;

/**
 * Answers one hook of a host in its own shape: what is no clear "go on" is a refusal.
 * @throws GateError `not_found` for a host without hooks
 */
export async function answerHook(input: HookInput, context: HookContext): Promise<HookAnswer> {
  const hooks = hooksOf(context.host);
  if (!hooks) {
    throw new GateError("not_found", `Cannot answer: gate knows no hooks of "${context.host}"`);
  }
  try {
    return await answer(input, hooks, context);
  } catch (error) {
    const isTold = error instanceof GateError && error.code !== "internal";
    if (!isTold) context.daemon.log("error", "Cannot answer a hook", { error: String(error) });
    const why = isTold ? error.message : "the gate could not judge it";
    return { output: hooks.deny(`Blocked by gate: ${why}`), held: null };
  }
}

async function answer(
  input: HookInput,
  hooks: HostHooks,
  context: HookContext,
): Promise<HookAnswer> {
  const goOn = { output: GO_ON, held: null };
  const call = understood(() => hooks.read(input, ownServer()), "Cannot read the hook's input");
  if (call === null || isOwnTool(call)) return goOn;
  if (!isAbsolute(call.cwd) || call.cwd.includes("\0")) {
    throw new GateError("invalid", 'Its "cwd" is no absolute path');
  }
  const native = understood(() => toNative(call, hooks, context.host), `"${call.tool}"`);
  const place = await findPlace(context.daemon, native, context.query.project_dir);
  if (!place) {
    const why = outsideText(context.daemon, native);
    return why === null ? goOn : { output: hooks.deny(why), held: null };
  }
  const session = await joinSession(place, call, context);
  if (call.event === "after") {
    await report(place.project, session, call, context);
    return goOn;
  }
  const wait_ms = context.query.wait_ms ?? WAIT_MS;
  const { actions } = place.project;
  const action = await actions.submitNative(native, { session, wait_ms }, context.caller);
  return action === null ? goOn : toAnswer(action, hooks);
}

function toAnswer(action: Action, hooks: HostHooks): HookAnswer {
  if (action.execution === "running") return { output: GO_ON, held: null };
  if (action.status === "pending") {
    return { output: hooks.deny(heldText(action)), held: action.id };
  }
  return { output: hooks.deny(refusalText(action)), held: null };
}

/** What gate's own server does passes the same check there: nobody is asked twice. */
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
  return { host, tool, input, cwd, uses, key: cut(key), is_quiet: kind === "quiet" };
}

/** The session that this host calls so; it is opened when it is first heard of. */
async function joinSession(
  { project, root, rule }: { project: Project; root: string; rule: string },
  { session }: HookCall,
  { host, caller }: HookContext,
): Promise<Session> {
  const id = session.length > 200 ? sha256(session) : session;
  const client = `hook ${id}`;
  return await project.sessions.join(
    { agent: host, host, client, root, detected_by: rule },
    caller,
  );
}

async function report(
  { actions }: Project,
  session: Session,
  call: HookCall,
  { host, caller }: HookContext,
): Promise<void> {
  const which = {
    session_id: session.id,
    tool: recordedName(host, call.tool),
    input_sha256: sha256(JSON.stringify(call.input)),
    key: cut(call.key),
  };
  await actions.reportNative(which, call.outcome!, caller);
}

function cut(key: string | null): string | null {
  return key === null || key.length > 200 ? null : key.replaceAll("\0", "").toWellFormed();
}

/** A host's input is hostile: what cannot be understood is refused, with the reason. */
function understood<T>(read: () => T, what: string): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof GateError) throw error;
    throw new GateError("invalid", `${what}: ${(error as Error).message}`);
  }
}
