import type { Sandbox } from "../../policy/schema.ts";
import type { Walls } from "../../sandbox/schema.ts";
import type { ActionServices } from "../context.ts";
import { reportRemoved } from "../guarding/report.ts";
import { restore, type Restored } from "../guarding/restore.ts";
import { compare } from "../guarding/snapshot.ts";
import type { ActionRow } from "../store.ts";
import { evaluateAgain } from "../submit/evaluate.ts";
import { join } from "node:path";

/**
 * The walls behind which a claimed command runs; null if it runs outside. @throws GateError `conflict`
 * if they cannot be built: then the command must not run
 */
export async function wallsFor(services: ActionServices, row: ActionRow): Promise<Walls | null> {
  const sandbox = await sandboxFor(services, row);
  if (sandbox === null) return null;
  const { sandboxes, config, sessions, neighbours } = services;
  const { home_project } = await sessions.get(row.session_id);
  const { compiled, around } = await config.inForce(home_project ?? undefined);
  return await sandboxes.build({
    ...{ action_id: row.id, session_id: row.session_id, sandbox, compiled, around },
    command: row.command!,
    cwd: row.cwd!,
    projects: await neighbours.roots(),
  });
}

/** The policy answers again, because a row of the ledger may have been changed by another program. */
async function sandboxFor(services: ActionServices, row: ActionRow): Promise<Sandbox | null> {
  const recorded = row.decision.sandbox ?? null;
  const { decision } = await evaluateAgain(services, row);
  // What a person approved runs outside, unless the policy lets nothing run there.
  const isApproved = row.decided_by !== "policy" && decision.effect === "allow";
  return isApproved ? recorded : decision.sandbox ?? recorded;
}

/**
 * Moves the files away that appeared while the command ran and that a rule blocks or keeps. Call it
 * after the guarded files were compared.
 */
export async function endWalls(services: ActionServices, row: ActionRow): Promise<Restored[]> {
  const { sandboxes, environment } = services;
  const folder = join(environment.home, "quarantine", row.id);
  const removed: Restored[] = [];
  for (const path of await sandboxes.appeared(row.id)) {
    const difference = compare([{ path, deep: false }], new Map())[0];
    // With its folder, or by the comparison of the guarded files.
    if (difference) removed.push({ ...restore(difference, folder), walled: true });
  }
  if (removed.length > 0) await reportRemoved(services, row, removed);
  return removed;
}
