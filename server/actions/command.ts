import type { Caller } from "../auth/schema.ts";
import { putBlob } from "../db/blobs.ts";
import { OutputBuffer } from "../runtime/output_buffer.ts";
import { refuse } from "./execute.ts";
import { recheck } from "./recheck.ts";
import { actorOf, eventOf, loadAction, notPossible, requireNotViewer } from "./record.ts";
import type { Claim, ClaimInput, ResultInput } from "./schema.ts";
import { timestamp } from "./services.ts";
import { type ActionRow, publicOf, toRow, updateAction, whereStands } from "./store.ts";
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
  const claimed = await commitClaim(road, row, input.holder ?? caller.id, caller);
  if (!claimed) throw notClaimable(await loadAction(services, id));
  const { limits } = (await services.config.inForce()).compiled;
  return {
    action: publicOf(claimed),
    claim_id: claimed.claim_id!,
    command: claimed.command!,
    cwd: claimed.cwd!,
    timeout_ms: limits.commandTimeoutSeconds * 1000,
    max_output_bytes: limits.maxBashOutputBytes,
  };
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
  if (reported) return reported;
  const current = await loadAction(road.services, id);
  throw notPossible(current, "report on", "it is not running under this claim");
}

async function commitResult(
  road: Road,
  row: ActionRow,
  input: ResultInput,
  caller: Caller,
): Promise<ActionRow | null> {
  const { ledger, project_id, environment } = road.services;
  const finished_at = timestamp(environment);
  const decision_id = environment.id();
  const output = await capped(road, input.output);
  const { statements, sha256 } = await putBlob(output.bytes, { project_id, at: finished_at });
  const result = resultOf(input, output, sha256);
  const { rows } = await ledger.commit({
    statements: [
      ...statements,
      updateAction(project_id, row.id, { ...result, decision_id, finished_at }, {
        // After a restart it counts as unknown, until the process that went on running it reports.
        execution: ["running", "unknown"],
        claim_id: input.claim_id,
      }),
    ],
    events: [eventOf(row, "action.finished", actorOf(caller, row.agent), result)],
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

async function commitClaim(
  road: Road,
  row: ActionRow,
  claimed_by: string,
  caller: Caller,
): Promise<ActionRow | null> {
  const { ledger, project_id, environment } = road.services;
  const claim_id = environment.id();
  const started_at = timestamp(environment);
  const { rows } = await ledger.commit({
    statements: [updateAction(
      project_id,
      row.id,
      { execution: "running", claim_id, claimed_by: claimed_by.toWellFormed(), started_at },
      { status: "approved", execution: ["none"], digest: row.digest },
    )],
    events: [eventOf(row, "action.started", actorOf(caller, row.agent), { claimed_by })],
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
async function capped(road: Road, text: string): Promise<Capped> {
  const { limits } = (await road.services.config.inForce()).compiled;
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
