import { homedir } from "node:os";
import { listOfAction } from "../../audit/store.ts";
import type { ActionServices } from "../context.ts";
import { PermittedPlace } from "../schema.ts";
import type { ActionRow, Fields, NewRow } from "../store.ts";
import { executorOf } from "../tools.ts";
import type { Watched } from "./guarding.ts";
import { permitsOf } from "./permits.ts";
import { reportLost, reportRestored } from "./report.ts";
import type { Restored } from "./restore.ts";
import type { Baseline } from "./saved_state.ts";

/** Programs that run the file in their first operand. */
const RUNNERS =
  /^(ba|da|z|k|c|tc|fi)?sh$|^(source|\.|python[\d.]*|pypy\d*|node|nodejs|deno|bun|tsx|ts-node|ruby|perl|php\d*|lua[\d.]*|Rscript)$/;

/**
 * Begins to watch the guarded files, before an action is recorded as started. Returns the digests for
 * its event `action.started`: after a crash, the next start compares the kept states with them.
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

/** Watches again for an action that ran before a crash. Reports a kept state that is lost. */
export async function resumeGuarding(services: ActionServices, row: ActionRow): Promise<void> {
  if (!mayChangeAnything(row)) return;
  const { watched, strangers } = await watchOf(services, row);
  const before = await baselineOf(services, row);
  const { lost, baseline } = await services.guarding.open(watched, strangers, { before });
  if (lost.length > 0) await reportLost(services, row, { lost, guarded: baseline });
}

/** Stops watching for an action that did not start. */
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
      reportRestored(services, row, restored, shared_with),
  };
  return { watched, strangers };
}

/** The places that a person named in the approval, whose proof was checked before the start. */
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

/** Compares for the last time after an action. Returns what was undone while it ran. */
export async function endGuarding(
  { guarding }: ActionServices,
  row: ActionRow,
): Promise<Restored[]> {
  return await guarding.close(row.id);
}

/** The fields of a finished action, with what was undone while it ran, before a restart too. */
export function withGuarded<T extends { fields: Fields }>(
  row: Pick<ActionRow, "plan">,
  effects: T,
  restored: readonly Restored[],
): T {
  const plan = effects.fields.plan ?? row.plan;
  if (restored.length === 0 || !plan) return effects;
  const all = [...plan.restored ?? [], ...restored];
  return { ...effects, fields: { ...effects.fields, plan: { ...plan, restored: all } } };
}

/** Compares the guarded files now, if any command runs. */
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
