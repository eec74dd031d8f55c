import type { Caller } from "../../auth/schema.ts";
import { maskSecrets, maskValues } from "../../audit/secrets.ts";
import { requireNotViewer } from "../../auth/scopes.ts";
import { putBlob } from "../../db/blobs.ts";
import { GateError } from "../../errors.ts";
import type { PolicyLimits } from "../../policy/schema.ts";
import { isSameProcess } from "../../runtime/processes.ts";
import { OutputBuffer } from "../../runtime/output_buffer.ts";
import type { AskedHost, Walls } from "../../sandbox/schema.ts";
import { noteConflicts } from "../conflicts/conflicts.ts";
import {
  type ActionContext,
  type ActionServices,
  loadAction,
  messageOf,
  notPossible,
  timestamp,
} from "../context.ts";
import { recheckApproved } from "../review/approval.ts";
import {
  beginGuarding,
  endGuarding,
  withdrawGuarding,
  withGuarded,
} from "../guarding/project_guard.ts";
import { isWorse } from "../effects/forecast.ts";
import { changesIn, effectsOf } from "../effects/outcome.ts";
import { takeSnapshot } from "../effects/snapshot.ts";
import type { Claim, ClaimInput, ResultInput } from "../schema.ts";
import { type ActionRow, type Fields, publicOf } from "../store.ts";
import { toolOf } from "../tools.ts";
import { actorOf, transition } from "../transition.ts";
import { newClaim } from "./claims.ts";
import { failUnstarted } from "./execute.ts";
import { runOf } from "./proved_run.ts";
import { heldBackOf, startOnCopy } from "../held_changes/held_back.ts";
import { enterSide, leaveWalls, removeShadows, wallsFor } from "./walled.ts";

/** Gives an approved command to the one process that claims it first. */
export async function claim(
  context: ActionContext,
  id: string,
  input: ClaimInput,
  caller: Caller,
): Promise<Claim> {
  requireNotViewer(caller, "claim a command");
  const { services } = context;
  const row = await loadAction(services, id);
  if (whyNotClaimable(row) !== null) throw notClaimable(row);
  const key = crypto.randomUUID();
  const started = await startInSide(context, row, input, { caller, key });
  if (!started) {
    services.sandboxes.lanes.leave(key);
    throw notClaimable(await loadAction(services, id));
  }
  const { claimed, walls, limits } = started;
  const run = walls ? null : await runOf(services, claimed);
  return {
    action: publicOf(claimed),
    claim_id: claimed.claim_id!,
    command: claimed.command!,
    cwd: claimed.cwd!,
    timeout_ms: limits.commandTimeoutSeconds * 1000,
    max_output_bytes: limits.maxBashOutputBytes,
    run,
    walls,
  };
}

/**
 * Starts the command in the sandbox or outside it. What its decision is about is checked after it has
 * entered that side: from then on no command of the other side changes it. Null if another claim won.
 */
async function startInSide(
  context: ActionContext,
  row: ActionRow,
  input: ClaimInput,
  { caller, key }: { caller: Caller; key: string },
): Promise<{ claimed: ActionRow; walls: Walls | null; limits: PolicyLimits } | null> {
  const { services } = context;
  const { id } = row;
  // The daemon does not see a process in another container, so it cannot tell when that is gone.
  const runner = input.process && isSameProcess(input.process) ? { process: input.process } : {};
  try {
    const side = await orFail(services, row, () => enterSide(services, row, key, runner));
    await recheckOrFail(services, row);
    const { limits } = (await services.config.inForce()).compiled;
    const kept = await keepFiles(services, row, limits);
    const isAble = input.sandbox === true;
    const walled = await orFail(
      services,
      row,
      () => wallsFor(services, row, { side, key, isAble, runner }),
    );
    const decision = walled && (!row.decision.sandbox || row.decided_by !== "policy")
      ? { decision: { ...row.decision, sandbox: walled.sandbox } }
      : {};
    const by = { by: input.holder ?? caller.id, caller };
    const start = () => commitClaim(context, row, { ...kept, ...decision }, by);
    const claimed = await startOnCopy(services, { id, copy: walled?.copy ?? null }, start);
    return claimed && { claimed, walls: walled?.walls ?? null, limits };
  } catch (error) {
    services.sandboxes.lanes.leave(key);
    throw error;
  }
}

/**
 * Gives an approved call of a host's own tool to the one call that claims it first.
 * @throws GateError `conflict` if another call has claimed it, or if the recheck fails
 */
export async function claimNative(
  context: ActionContext,
  row: ActionRow,
  key: string | null,
  caller: Caller,
): Promise<ActionRow> {
  await recheckOrFail(context.services, row);
  const claimed = await commitClaim(context, row, {}, { by: key ?? "", caller });
  if (claimed) return claimed;
  const current = await loadAction(context.services, row.id);
  throw notPossible(current, "use the approval of", "another call has used it already");
}

/** Records the result of a command. Only the holder of the claim can report it, once. */
export async function report(
  context: ActionContext,
  id: string,
  input: ResultInput,
  caller: Caller,
): Promise<ActionRow> {
  requireNotViewer(caller, "report a result");
  const { services } = context;
  const row = await loadAction(services, id);
  if (!isClaimed(row)) throw notPossible(row, "report on", "it is not a command");
  const reported = await commitResult(context, row, input, caller);
  if (reported) {
    services.budgets.count(reported);
    const paths = reported.plan?.changes.map(({ path }) => path) ?? [];
    return await noteConflicts(services, reported, paths);
  }
  const current = await loadAction(services, id);
  throw notPossible(current, "report on", "it is not running under this claim");
}

/** An output that was cut to the limit. */
interface Capped {
  bytes: Uint8Array;
  truncated: boolean;
}

/** Applies the output limit to whatever the reporting process sends, and masks secrets in it. */
export async function capOutput(services: ActionServices, text: string): Promise<Capped> {
  const { limits } = (await services.config.inForce()).compiled;
  const buffer = new OutputBuffer(limits.maxBashOutputBytes);
  buffer.add(new TextEncoder().encode(text));
  const { text: kept, truncated } = buffer.finish();
  return { bytes: new TextEncoder().encode(maskValues(kept)), truncated };
}

/** Fails the action if it may no longer be executed, so that it does not stay open. */
async function recheckOrFail(services: ActionServices, row: ActionRow): Promise<void> {
  try {
    await recheckApproved(services, row);
  } catch (error) {
    await failUnstarted(services, row, messageOf(error));
    throw error;
  }
}

/** Fails the action if this step fails: a command never runs outside its sandbox instead. */
async function orFail<T>(
  services: ActionServices,
  row: ActionRow,
  step: () => Promise<T>,
): Promise<T> {
  try {
    return await step();
  } catch (error) {
    await failUnstarted(services, row, messageOf(error));
    throw error;
  }
}

/**
 * Keeps the present contents of the files that the command will change. @throws GateError `conflict`
 * if a person approved it as reversible and less of it is reversible now
 */
async function keepFiles(
  services: ActionServices,
  row: ActionRow,
  limits: PolicyLimits,
): Promise<Fields> {
  const { snapshot, reversibility } = await takeSnapshot(services, row, limits);
  if (row.decided_by !== "policy" && isWorse(reversibility, row.reversibility)) {
    const why = "less of it can be rolled back than at its approval: " + reversibility.why;
    const message = `Cannot execute the action: ${why}; let the agent submit it again`;
    await failUnstarted(services, row, message);
    throw new GateError("conflict", message, { fields: { reversibility } });
  }
  return { plan: { ...row.plan!, snapshot }, reversibility };
}

/**
 * Starts the action under a new claim, while the guarded files are watched. Returns null to every
 * caller but the first.
 */
async function commitClaim(
  context: ActionContext,
  row: ActionRow,
  kept: Fields,
  by: Claimer,
): Promise<ActionRow | null> {
  const { services } = context;
  const isBehind = kept.decision?.sandbox ?? row.decision.sandbox;
  if (!isBehind) await removeShadows(services);
  const guarded = await beginGuarding(services, row);
  let claimed: ActionRow | null = null;
  try {
    claimed = await commitStart(context, row, kept, { ...by, guarded });
  } finally {
    if (!claimed) await withdrawGuarding(services, row);
  }
  return claimed;
}

interface Claimer {
  by: string;
  caller: Caller;
}

async function commitStart(
  { services, deadlines }: ActionContext,
  row: ActionRow,
  kept: Fields,
  { by: claimed_by, caller, guarded }: Claimer & { guarded: Record<string, unknown> },
): Promise<ActionRow | null> {
  const { environment } = services;
  const started_at = timestamp(environment);
  const claimed = await transition(services, row, {
    from: { status: "approved", execution: ["none"], digest: row.digest },
    to: {
      ...kept,
      execution: "running",
      claim_id: newClaim(services, row),
      claimed_by: claimed_by.toWellFormed(),
      started_at,
    },
    by: actorOf(caller, row.agent),
    type: "action.started",
    why: {
      ...{ claimed_by, reversibility: kept.reversibility, ...guarded },
      ...kept.decision?.sandbox && { sandbox: kept.decision.sandbox },
    },
    is_own: true,
  });
  deadlines.schedule(started_at);
  return claimed;
}

async function commitResult(
  context: ActionContext,
  row: ActionRow,
  input: ResultInput,
  caller: Caller,
): Promise<ActionRow | null> {
  const { services } = context;
  // A caller without the claim must not cause any reading of files.
  const isOpen = row.execution === "running" || row.execution === "unknown";
  if (!isOpen || row.claim_id !== input.claim_id) return null;
  const { project_id, environment } = services;
  const finished_at = timestamp(environment);
  const output = await capOutput(services, input.output);
  const { statements, sha256 } = await putBlob(output.bytes, { project_id, at: finished_at });
  await services.contents.use([{ sha256 }]);
  services.intake.count(row.session_id, [{ sha256, content: output.bytes }]);
  const result = resultOf(input, output, sha256);
  // Before the effects are read, so that what was undone is none of them.
  const restored = await endGuarding(services, row);
  const { removed, goes_on } = await leaveWalls(services, row, input.left ?? null);
  const held = await heldBackOf(context, row, { caller, goes_on });
  const effects = held ?? await effectsOf(services, row);
  const changed = withGuarded(row, effects, [...restored, ...removed]);
  const { asked_hosts } = input;
  const noted = asked_hosts && row.decision.sandbox
    ? withAsked(row, changed, asked_hosts)
    : changed;
  return await transition(services, row, {
    // After a restart the outcome counts as unknown until the process that kept running it reports.
    from: { execution: ["running", "unknown"], claim_id: input.claim_id },
    to: { ...result, ...noted.fields, finished_at },
    by: actorOf(caller, row.agent),
    type: "action.finished",
    why: {
      ...result,
      changes: changesIn({ ...row, ...noted.fields }),
      ...asked_hosts && { asked_hosts },
    },
    before: [...statements, ...noted.statements],
  });
}

/** Effects that also keep which hosts the command asked for. */
export function withAsked<E extends { fields: Fields }>(
  { plan }: ActionRow,
  effects: E,
  asked_hosts: AskedHost[],
): E {
  if (!plan) return effects;
  const known = effects.fields.plan ?? plan;
  return { ...effects, fields: { ...effects.fields, plan: { ...known, asked_hosts } } };
}

function resultOf(input: ResultInput, output: Capped, output_sha256: string) {
  const { exit_code, duration_ms } = input;
  const error = input.error === undefined ? null : maskSecrets(input.error.slice(0, 4_000));
  return {
    execution: error === null && exit_code === 0 ? "succeeded" as const : "failed" as const,
    error,
    exit_code,
    duration_ms,
    output_sha256,
    output_truncated: input.truncated || output.truncated,
    bytes: output.bytes.length,
  };
}

function isClaimed({ tool }: ActionRow): boolean {
  return toolOf(tool).executor === "claimer";
}

function whyNotClaimable(row: ActionRow): string | null {
  if (!isClaimed(row)) return "it is not a command";
  if (row.status !== "approved") return `it is ${row.status}`;
  return row.execution === "none" ? null : "it has been claimed already";
}

function notClaimable(row: ActionRow): GateError {
  return notPossible(row, "claim", whyNotClaimable(row) ?? "it has been claimed already");
}
