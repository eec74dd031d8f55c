import type { Caller } from "../auth/schema.ts";
import { requireNotViewer } from "../auth/scopes.ts";
import type { Daemon } from "../daemon.ts";
import type { HookRun, HookRunEnd, HookRunInput, HookRunResult } from "./schema.ts";

/**
 * Gives the command of a ticket to the process that takes it first. The ticket names no command, so
 * whoever has it can only run what was allowed, where it was allowed. @throws GateError `not_found`
 * for a ticket that is used or unknown, `conflict` if the command must not run
 */
export async function startRun(
  ticket_id: string,
  { pid }: HookRunInput,
  { daemon, caller }: { daemon: Daemon; caller: Caller },
): Promise<HookRun> {
  requireNotViewer(caller, "run a command");
  const ticket = daemon.host_shells.take(ticket_id);
  if (ticket.is_trial) return { run: null };
  const { actions } = await daemon.projects.get(ticket.project_id);
  const { sandbox, ...run } = await actions.startWalled(ticket.action_id, pid);
  ticket.sandbox = sandbox;
  return { run };
}

/** Records the end of what a process has taken, once. @throws GateError `not_found` */
export async function endRun(
  ticket_id: string,
  result: HookRunResult,
  { daemon, caller }: { daemon: Daemon; caller: Caller },
): Promise<HookRunEnd> {
  requireNotViewer(caller, "report a result");
  const { is_trial, shell, sandbox, project_id, action_id } = daemon.host_shells.end(ticket_id);
  if (is_trial) daemon.host_shells.note(shell, result.exit_code === 0);
  if (sandbox === null) return { walls: [] };
  const { actions } = await daemon.projects.get(project_id);
  return { walls: await actions.endWalled(action_id, { result, sandbox, caller }) };
}
