import { join } from "node:path";
import { insertBlock } from "../../remediation/store.ts";
import type { ProcessIdentity } from "../../runtime/processes.ts";
import { type ActionServices, timestamp } from "../context.ts";
import { PermittedPlace } from "../schema.ts";
import type { ActionRow } from "../store.ts";
import { isInside } from "../submit/target.ts";
import { BY_SYSTEM, eventOf } from "../transition.ts";
import type { LostState } from "./guarding.ts";
import type { Restored } from "./restore.ts";
import type { Baseline } from "./saved_state.ts";

/** An event lists at most this many files. */
const MAX_LISTED = 100;

/** The fields of an action that a report names. */
type Reported = Pick<ActionRow, "id" | "session_id" | "root" | "command">;

/** Records what was undone, and blocks the session until a person lifts the block. */
export async function reportRestored(
  services: ActionServices,
  row: Reported,
  restored: Restored[],
  shared_with: string[],
): Promise<void> {
  // A script that was written again with the same content did no harm.
  const harmful = restored.filter(({ change }) => change !== "rewritten");
  const shown = someOf(harmful.map(({ path }) => `"${path}"`));
  const reason = `The command of action ${row.id} changed ${shown} without permission${
    howToPermit(row, harmful)
  }`;
  await recordAndBlock(
    services,
    row,
    { restored, shared_with },
    harmful.length === 0 ? null : reason,
  );
}

/** The options with which a person permits these changes; empty if no option permits all of them. */
function howToPermit({ root, command }: Reported, restored: readonly Restored[]): string {
  const places = PermittedPlace.options.filter((place) =>
    restored.some(({ path }) => isInside(path, join(root, place)))
  );
  const isAll = restored.every(({ path }) =>
    places.some((place) => isInside(path, join(root, place)))
  );
  if (command === null || places.length === 0 || !isAll) return "";
  const options = places.map((place) => `--permit ${place}`).join(" ");
  return `. If it may: lift the block, let the agent run it again, and approve it with ${options}`;
}

/**
 * Records what a command in the sandbox created against a rule. The session goes on if all of it was
 * moved away: what a person's programs would load must not stay unnoticed.
 */
export async function reportRemoved(
  services: ActionServices,
  row: Reported,
  removed: Restored[],
): Promise<void> {
  const left = removed.filter(({ restored }) => !restored).map(({ path }) => `"${path}"`);
  const reason =
    `The command of action ${row.id} left ${someOf(left)} behind, and gate could not ` +
    "look through it or move it away";
  await recordAndBlock(services, row, { restored: removed }, left.length === 0 ? null : reason);
}

/** Blocks the session of a command, because one of its processes goes on after gate's last look. */
export async function reportLeft(
  services: ActionServices,
  row: Reported,
  { pid }: ProcessIdentity,
): Promise<void> {
  const reason = `A process of the command of action ${row.id} goes on in its sandbox (${pid}), ` +
    "because it could not be ended: what it still changes is unknown until it has ended";
  await services.ledger.commit(blockOf(services, row, reason));
}

/** Records that the state from before a crash is lost, and blocks the session. */
export async function reportLost(
  services: ActionServices,
  row: Reported,
  { lost, guarded }: { lost: readonly LostState[]; guarded: Baseline },
): Promise<void> {
  const reason =
    `The gate stopped while action ${row.id} ran, and the state of the guarded files ` +
    `in ${someOf(lost.map(({ where }) => where))} was deleted or changed meanwhile: what changed ` +
    "there is unknown";
  const restored = lost.map(({ file }) => file);
  // The next start compares with the state that was kept now.
  await recordAndBlock(services, row, { restored, shared_with: [], guarded }, reason);
}

/** Appends the event, and blocks the session if there is a reason. */
async function recordAndBlock(
  services: ActionServices,
  row: Reported,
  { restored, ...more }: { restored: Restored[]; shared_with?: string[]; guarded?: Baseline },
  reason: string | null,
): Promise<void> {
  const paths = restored.slice(0, MAX_LISTED);
  const event = eventOf(row, "guard.restored", BY_SYSTEM, {
    ...more,
    paths,
    left_out: restored.length - paths.length,
  });
  const block = reason === null ? { statements: [], events: [] } : blockOf(services, row, reason);
  await services.ledger.commit({ ...block, events: [event, ...block.events] });
}

/** The commit that blocks the session of an action. */
function blockOf({ environment, project_id }: ActionServices, row: Reported, reason: string) {
  const id = environment.id();
  return {
    statements: [insertBlock({
      id,
      project_id,
      session_id: row.session_id,
      action_id: row.id,
      reason,
      agent: null,
      created_at: timestamp(environment),
      expires_at: null,
      lifted_at: null,
      lifted_by: null,
    })],
    events: [eventOf(row, "block.added", BY_SYSTEM, { block_id: id, reason })],
  };
}

function someOf(names: readonly string[]): string {
  const more = names.length > 3 ? ` and ${names.length - 3} more` : "";
  return `${names.slice(0, 3).join(", ")}${more}`;
}
