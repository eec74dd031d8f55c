import { homedir } from "node:os";
import { join } from "node:path";
import { listOfAction } from "../../audit/store.ts";
import { insertBlock } from "../../remediation/store.ts";
import { type ActionServices, timestamp } from "../context.ts";
import { PermittedPlace } from "../schema.ts";
import type { ActionRow, Fields, NewRow } from "../store.ts";
import { isInside } from "../submit/target.ts";
import { executorOf } from "../tools.ts";
import { BY_SYSTEM, eventOf } from "../transition.ts";
import type { LostState, Watched } from "./guarding.ts";
import { permitsOf } from "./permits.ts";
import type { Restored } from "./restore.ts";
import type { Baseline } from "./saved_state.ts";

/** Programs that run the file in their first operand. */
const RUNNERS =
  /^(ba|da|z|k|c|tc|fi)?sh$|^(source|\.|python[\d.]*|pypy\d*|node|nodejs|deno|bun|tsx|ts-node|ruby|perl|php\d*|lua[\d.]*|Rscript)$/;

/**
 * Begins to watch the guarded files, before an action is recorded as started. What it returns belongs
 * into the event `action.started`: a start after a crash compares the kept state with it.
 */
export async function beginGuarding(
  services: ActionServices,
  row: NewRow,
): Promise<{ guarded?: Baseline }> {
  if (!mayChangeAnything(row)) return {};
  const { watched, strangers } = await watchOf(services, row);
  const { baseline } = await services.guarding.open(watched, strangers);
  return { guarded: baseline };
}

/** Goes on to watch for an action that ran before a crash, and tells when the state is lost. */
export async function resumeGuarding(services: ActionServices, row: ActionRow): Promise<void> {
  if (!mayChangeAnything(row)) return;
  const { watched, strangers } = await watchOf(services, row);
  const before = await baselineOf(services, row);
  const { lost, baseline } = await services.guarding.open(watched, strangers, { before });
  if (lost.length > 0) await reportLost(services, row, { lost, guarded: baseline });
}

/** Watches no longer for an action that did not start after all. */
export async function withdrawGuarding(
  { guarding }: ActionServices,
  { id }: Pick<ActionRow, "id">,
): Promise<void> {
  await guarding.withdraw(id);
}

async function watchOf(
  services: ActionServices,
  row: NewRow,
): Promise<{ watched: Watched; strangers: string[] }> {
  const { neighbours, roots } = services;
  const strangers = (await neighbours.roots()).filter((root) => !roots.includes(root));
  // The ledger of the machine has the whole disk as its root.
  const root = roots.some((one) => one !== "/" && row.root.startsWith(one)) ? row.root : homedir();
  const watched = {
    action_id: row.id,
    root: roots.includes("/") ? row.cwd ?? row.root : root,
    cwd: row.cwd ?? row.root,
    permits: permitsOf(row, await permittedTo(services, row)),
    scripts: frozenScripts(row),
    report: (restored: Restored[], shared_with: string[]) =>
      report(services, row, restored, shared_with),
  };
  return { watched, strangers };
}

/** The places that a person named in the approval. Its proof has been judged before the start. */
async function permittedTo(
  { ledger }: ActionServices,
  { id, command, decided_by }: NewRow,
): Promise<PermittedPlace[]> {
  if (command === null || decided_by === null || decided_by === "policy") return [];
  const approved = (await listOfAction(ledger, id))
    .findLast(({ type }) => type === "action.approved");
  const { permit } = (approved?.data.asked ?? {}) as { permit?: unknown };
  return PermittedPlace.array().catch([]).parse(permit ?? []);
}

/** The digests in the action's own event. Null if it has none or is damaged. */
async function baselineOf({ ledger }: ActionServices, { id }: ActionRow): Promise<Baseline | null> {
  try {
    const events = await listOfAction(ledger, id);
    const newest = events.findLast(({ type, data }) =>
      (type === "action.started" || type === "guard.restored") && data.guarded !== undefined
    );
    return (newest?.data.guarded ?? null) as Baseline | null;
  } catch {
    return null;
  }
}

/** Looks for the last time after an action. Returns what was undone while it ran. */
export async function endGuarding(
  { guarding }: ActionServices,
  row: ActionRow,
): Promise<Restored[]> {
  return await guarding.close(row.id);
}

/** The fields of a finished action, with what was undone while it ran. */
export function withGuarded<T extends { fields: Fields }>(
  row: Pick<ActionRow, "plan">,
  effects: T,
  restored: readonly Restored[],
): T {
  const plan = effects.fields.plan ?? row.plan;
  if (restored.length === 0 || !plan) return effects;
  return { ...effects, fields: { ...effects.fields, plan: { ...plan, restored } } };
}

/** Looks at the guarded files while actions run, because an agent makes contact. */
export async function lookAgain({ guarding }: ActionServices): Promise<void> {
  if (guarding.isWatching) await guarding.look();
}

/** A file tool of the gate changes only the files of its plan. */
function mayChangeAnything(row: NewRow): boolean {
  const executor = executorOf(row);
  if (executor === "claimer") return true;
  return executor === "host" && (row.command !== null || row.plan?.accesses.length === 0);
}

/** The scripts that the command starts; files that it reads otherwise may change. */
export function frozenScripts({ plan, analysis }: Pick<ActionRow, "plan" | "analysis">): string[] {
  const started = (analysis?.commands ?? []).flatMap(([program = "", ...args]) => {
    const name = program.slice(program.lastIndexOf("/") + 1);
    const first = args.find((arg) => !arg.startsWith("-"));
    return [
      ...program.includes("/") ? [name] : [],
      ...RUNNERS.test(name) && first !== undefined ? [first.slice(first.lastIndexOf("/") + 1)] : [],
    ];
  });
  return (plan?.scripts ?? []).map(({ path }) => path)
    .filter((path) => started.includes(path.slice(path.lastIndexOf("/") + 1)));
}

const MAX_TOLD = 100;

/** Records what was undone, and blocks the session until a person has looked. */
async function report(
  services: ActionServices,
  row: Watching,
  restored: Restored[],
  shared_with: string[],
): Promise<void> {
  // A script that was written again with the same content did no harm.
  const harmful = restored.filter(({ change }) => change !== "rewritten");
  const shown = someOf(harmful.map(({ path }) => `"${path}"`));
  const reason = `The command of action ${row.id} changed ${shown} without permission${
    wayOut(row, harmful)
  }`;
  await tell(services, row, { restored, shared_with }, harmful.length === 0 ? null : reason);
}

/** How a person lets the command change these files; empty if nobody can. */
function wayOut({ root, command }: Watching, restored: readonly Restored[]): string {
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

/** Records that nobody knows what an action changed, and blocks the session. */
async function reportLost(
  services: ActionServices,
  row: Watching,
  { lost, guarded }: { lost: readonly LostState[]; guarded: Baseline },
): Promise<void> {
  const reason =
    `The gate stopped while action ${row.id} ran, and the state of the guarded files ` +
    `in ${someOf(lost.map(({ where }) => where))} was deleted or changed meanwhile: what changed ` +
    "there is unknown";
  const restored = lost.map(({ file }) => file);
  // The next start compares with the state that was kept now.
  await tell(services, row, { restored, shared_with: [], guarded }, reason);
}

/** Appends the event, and blocks the session if there is a reason. */
async function tell(
  { ledger, environment, project_id }: ActionServices,
  row: Watching,
  { restored, ...more }: { restored: Restored[]; shared_with: string[]; guarded?: Baseline },
  reason: string | null,
): Promise<void> {
  const paths = restored.slice(0, MAX_TOLD);
  const told = eventOf(row, "guard.restored", BY_SYSTEM, {
    ...more,
    paths,
    left_out: restored.length - paths.length,
  });
  if (reason === null) {
    await ledger.commit({ statements: [], events: [told] });
    return;
  }
  const id = environment.id();
  await ledger.commit({
    statements: [insertBlock({
      id,
      project_id,
      session_id: row.session_id,
      action_id: row.id,
      reason,
      created_at: timestamp(environment),
      lifted_at: null,
      lifted_by: null,
    })],
    events: [told, eventOf(row, "block.added", BY_SYSTEM, { block_id: id, reason })],
  });
}

type Watching = Pick<ActionRow, "id" | "session_id" | "root" | "command">;

function someOf(names: readonly string[]): string {
  const more = names.length > 3 ? ` and ${names.length - 3} more` : "";
  return `${names.slice(0, 3).join(", ")}${more}`;
}
