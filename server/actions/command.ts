import type { Caller } from "../auth/schema.ts";
import { putBlob } from "../db/blobs.ts";
import { GateError } from "../errors.ts";
import type { PolicyLimits } from "../policy/schema.ts";
import { OutputBuffer } from "../runtime/output_buffer.ts";
import { noteConflicts } from "./conflicts/conflicts.ts";
import { refuse } from "./execute.ts";
import { recheck } from "./recheck.ts";
import { actorOf, eventOf, loadAction, notPossible, requireNotViewer } from "./record.ts";
import { isWorse } from "./reach/forecast.ts";
import { changesIn, outcomeOf } from "./reach/outcome.ts";
import { takeSnapshot } from "./reach/snapshot.ts";
import type { Claim, ClaimInput, ResultInput } from "./schema.ts";
import { type ActionServices, timestamp } from "./services.ts";
import {
  type ActionRow,
  type Fields,
  publicOf,
  toRow,
  updateAction,
  whereStands,
} from "./store.ts";
import type { Road } from "./enter.ts";

/** Gives an approved command to the one process that is going to run it. */
export async function claim(
  road: Road,
  id: string,
  input: ClaimInput,
  caller: Caller,
): Promise<Claim> {
  requireNotViewer(caller, "claim a command");
  const { services } = road;
  const row = await loadAction(services, id);
  if (!isClaimable(row)) throw notClaimable(row);
  try {
    await recheck(services, row);
  } catch (error) {
    // It must never run now, so it does not stay open: whoever wanted it asks again.
    await refuse(services, row, error instanceof Error ? error.message : String(error));
    throw error;
  }
  const { limits } = (await services.config.inForce()).compiled;
  const kept = await keepFirst(services, row, limits);
  const claimed = await commitClaim(road, row, kept, { by: input.holder ?? caller.id, caller });
  if (!claimed) throw notClaimable(await loadAction(services, id));
  return {
    action: publicOf(claimed),
    claim_id: claimed.claim_id!,
    command: claimed.command!,
    cwd: claimed.cwd!,
    timeout_ms: limits.commandTimeoutSeconds * 1000,
    max_output_bytes: limits.maxBashOutputBytes,
  };
}

/**
 * Keeps what it will change, as it stands now. @throws GateError `conflict` where a person approved
 * it as something that can be undone, and it no longer is
 */
async function keepFirst(
  services: ActionServices,
  row: ActionRow,
  limits: PolicyLimits,
): Promise<Fields> {
  const { snapshot, reversibility } = await takeSnapshot(services, row, limits);
  if (row.decided_by !== "policy" && isWorse(reversibility, row.reversibility)) {
    const why = "less of it can be undone than when it was approved: " + reversibility.why;
    const message = `Cannot carry the action out: ${why}; let the agent ask again`;
    await refuse(services, row, message);
    throw new GateError("conflict", message, { fields: { reversibility } });
  }
  return { plan: { ...row.plan!, snapshot }, reversibility };
}

/** Records what came of a command; only whoever claimed it can say so, and only once. */
export async function report(
  road: Road,
  id: string,
  input: ResultInput,
  caller: Caller,
): Promise<ActionRow> {
  requireNotViewer(caller, "report a result");
  const row = await loadAction(road.services, id);
  if (row.tool !== "run_command") throw notPossible(row, "report on", "it is no command");
  const reported = await commitResult(road, row, input, caller);
  if (reported) {
    const paths = reported.plan?.changes.map(({ path }) => path) ?? [];
    return await noteConflicts(road.services, reported, paths);
  }
  const current = await loadAction(road.services, id);
  throw notPossible(current, "report on", "it is not running under this claim");
}

async function commitResult(
  road: Road,
  row: ActionRow,
  input: ResultInput,
  caller: Caller,
): Promise<ActionRow | null> {
  // Whoever cannot report does not make us look at files either.
  const isOpen = row.execution === "running" || row.execution === "unknown";
  if (!isOpen || row.claim_id !== input.claim_id) return null;
  const { ledger, project_id, environment } = road.services;
  const finished_at = timestamp(environment);
  const decision_id = environment.id();
  const output = await capped(road.services, input.output);
  const { statements, sha256 } = await putBlob(output.bytes, { project_id, at: finished_at });
  const result = resultOf(input, output, sha256);
  const outcome = await outcomeOf(road.services, row);
  const { rows } = await ledger.commit({
    statements: [
      ...statements,
      ...outcome.statements,
      updateAction(project_id, row.id, { ...result, ...outcome.fields, decision_id, finished_at }, {
        // After a restart it counts as unknown, until the process that went on running it reports.
        execution: ["running", "unknown"],
        claim_id: input.claim_id,
      }),
    ],
    events: [eventOf(row, "action.finished", actorOf(caller, row.agent), {
      ...result,
      changes: changesIn(outcome.fields),
    })],
    when: whereStands(project_id, row.id, { decision_id }),
  });
  const finished = rows.at(-1)?.[0];
  return finished ? toRow(finished) : null;
}

function resultOf(input: ResultInput, output: Capped, output_sha256: string) {
  const { exit_code, duration_ms } = input;
  const error = input.error?.slice(0, 4_000).toWellFormed() ?? null;
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

/** The one claim that wins is answered; null for every other. */
export async function commitClaim(
  road: Road,
  row: ActionRow,
  kept: Fields,
  { by: claimed_by, caller }: { by: string; caller: Caller },
): Promise<ActionRow | null> {
  const { ledger, project_id, environment } = road.services;
  const claim_id = environment.id();
  const started_at = timestamp(environment);
  const { rows } = await ledger.commit({
    statements: [updateAction(
      project_id,
      row.id,
      {
        ...kept,
        execution: "running",
        claim_id,
        claimed_by: claimed_by.toWellFormed(),
        started_at,
      },
      { status: "approved", execution: ["none"], digest: row.digest },
    )],
    events: [eventOf(row, "action.started", actorOf(caller, row.agent), {
      claimed_by,
      reversibility: kept.reversibility,
    })],
    when: whereStands(project_id, row.id, { claim_id }),
  });
  road.expiry.schedule(started_at);
  const claimed = rows[0]?.[0];
  return claimed ? toRow(claimed) : null;
}

interface Capped {
  bytes: Uint8Array;
  truncated: boolean;
}

/** The cap holds whatever the holder sends. */
export async function capped(services: ActionServices, text: string): Promise<Capped> {
  const { limits } = (await services.config.inForce()).compiled;
  const buffer = new OutputBuffer(limits.maxBashOutputBytes);
  buffer.add(new TextEncoder().encode(text));
  const { text: kept, truncated } = buffer.finish();
  return { bytes: new TextEncoder().encode(kept), truncated };
}

function isClaimable(row: ActionRow): boolean {
  return row.tool === "run_command" && row.status === "approved" && row.execution === "none";
}

function notClaimable(row: ActionRow) {
  const why = row.tool !== "run_command"
    ? "it is no command"
    : row.status !== "approved"
    ? `it is ${row.status}`
    : "it has been claimed already";
  return notPossible(row, "claim", why);
}
