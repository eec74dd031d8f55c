import type { Caller } from "../../auth/schema.ts";
import { requireNotViewer } from "../../auth/scopes.ts";
import type { Sandbox } from "../../policy/schema.ts";
import { identify } from "../../runtime/processes.ts";
import type { Walls } from "../../sandbox/schema.ts";
import { closedHosts, wallsMet } from "../../sandbox/walls_met.ts";
import { tellOwnTmp } from "../../shown/own_tmp.ts";
import { type ActionContext, type ActionServices, loadAction, notPossible } from "../context.ts";
import { heldBackOf } from "../held_changes/held_back.ts";
import { tellHeldBack } from "../held_changes/tell.ts";
import type { ResultInput } from "../schema.ts";
import { actorOf } from "../transition.ts";
import { recheckApproved } from "../review/approval.ts";
import { finishNative } from "./native_report.ts";
import { goBehind, leaveWalls, outsideOf, sandboxFor, wallsBehind } from "./walled.ts";

/** A host's command as `gate hook run` runs it in the sandbox. */
export interface WalledRun {
  command: string;
  cwd: string;
  max_output_bytes: number;
  walls: Walls;
  sandbox: Sandbox;
}

/** Longer than any server that an agent starts for its work. */
const MAX_RUN_MS = 24 * 60 * 60 * 1000;

/**
 * Whether the started command of a host is to run in the sandbox: its decision says so, it runs
 * programs of the project, or another command in the sandbox works in its folders. A command that
 * runs outside keeps others from the sandbox until its host reports.
 */
export async function belongsBehind(services: ActionServices, id: string): Promise<boolean> {
  const row = await loadAction(services, id);
  const { compiled, around } = await services.config.inForce();
  if (!around.sandbox || compiled.sandbox.mode === "off") return false;
  return await outsideOf(services, row, row.id) === "behind";
}

/**
 * Starts a host's command in the sandbox, for the process with this pid. @throws GateError `conflict`
 * if it must not run, or if its walls cannot be built
 */
export async function startWalled(
  services: ActionServices,
  id: string,
  pid: number,
): Promise<WalledRun> {
  const { lanes } = services.sandboxes;
  const row = await loadAction(services, id);
  if (!row.plan?.native?.walled || row.command === null || row.cwd === null) {
    throw notPossible(row, "run", "it is no command that a host gave to gate");
  }
  if (row.execution !== "running") throw notPossible(row, "run", `it is ${row.execution}`);
  const key = crypto.randomUUID();
  try {
    await goBehind(services, row, key, { at_most_ms: MAX_RUN_MS, process: identify(pid) });
    await recheckApproved(services, row);
    const decided = await sandboxFor(services, row);
    const { walls, sandbox, copy } = await wallsBehind(services, row, decided);
    if (copy) services.sandboxes.startCopy(id, copy);
    const { limits } = (await services.config.inForce()).compiled;
    return {
      ...{ command: row.command, cwd: row.cwd, walls, sandbox },
      max_output_bytes: limits.maxBashOutputBytes,
    };
  } catch (error) {
    await services.sandboxes.dropCopy(id);
    lanes.leave(key);
    throw error;
  }
}

/** Records the end of a host's command in the sandbox. Returns the walls that it met. */
export async function endWalled(
  context: ActionContext,
  id: string,
  { result, sandbox, caller }: {
    result: Omit<ResultInput, "claim_id">;
    sandbox: Sandbox;
    caller: Caller;
  },
): Promise<string[]> {
  requireNotViewer(caller, "report a result");
  const { services } = context;
  const row = await loadAction(services, id);
  const behind = { ...row, decision: { ...row.decision, sandbox } };
  const { removed, goes_on } = await leaveWalls(services, behind, result.left ?? null);
  const held = await heldBackOf(context, behind, { caller, goes_on });
  const { exit_code, output, error = null, duration_ms } = result;
  const failed = error !== null || exit_code !== 0;
  const why = failed ? error ?? `It ended with exit code ${exit_code}` : null;
  await finishNative(services, row, {
    outcome: { failed, exit_code, output, error: why, duration_ms },
    by: actorOf(caller, row.agent),
    decision: { ...row.decision, sandbox },
    removed,
    held_back: held?.fields.plan?.held_back,
    asked_hosts: result.asked_hosts,
  });
  const told = held?.fields.plan?.held_back;
  const tmp = tellOwnTmp(row.command ?? "", sandbox.engine);
  return [
    ...told ? [tellHeldBack(told)] : [],
    ...closedHosts(result.asked_hosts),
    ...failed ? wallsMet(output, sandbox.writable) : [],
    ...tmp === null ? [] : [tmp],
  ];
}
