import { homedir } from "node:os";
import { insertBlock } from "../../remediation/store.ts";
import { type ActionServices, timestamp } from "../context.ts";
import type { ActionRow, Fields } from "../store.ts";
import { executorOf } from "../tools.ts";
import { BY_SYSTEM, eventOf } from "../transition.ts";
import { permitsOf } from "./permits.ts";
import type { Restored } from "./restore.ts";

/** Programs that run the file in their first operand. */
const RUNNERS =
  /^(ba|da|z|k|c|tc|fi)?sh$|^(source|\.|python[\d.]*|pypy\d*|node|nodejs|deno|bun|tsx|ts-node|ruby|perl|php\d*|lua[\d.]*|Rscript)$/;

/** Begins to watch the guarded files while an action runs. `is_resumed`: it ran before a crash. */
export async function beginGuarding(
  services: ActionServices,
  row: ActionRow,
  { is_resumed = false } = {},
): Promise<void> {
  if (!mayChangeAnything(row)) return;
  const { guarding, neighbours, roots } = services;
  const strangers = (await neighbours.roots()).filter((root) => !roots.includes(root));
  // The ledger of the machine has the whole disk as its root.
  const root = roots.some((one) => one !== "/" && row.root.startsWith(one)) ? row.root : homedir();
  await guarding.open(
    {
      action_id: row.id,
      root: roots.includes("/") ? row.cwd ?? row.root : root,
      cwd: row.cwd ?? row.root,
      permits: permitsOf(row),
      scripts: frozenScripts(row),
      report: (restored, shared_with) => report(services, row, restored, shared_with),
    },
    strangers,
    is_resumed,
  );
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
function mayChangeAnything(row: ActionRow): boolean {
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
  { ledger, environment, project_id }: ActionServices,
  row: ActionRow,
  restored: Restored[],
  shared_with: string[],
): Promise<void> {
  const paths = restored.slice(0, MAX_TOLD);
  const told = eventOf(row, "guard.restored", BY_SYSTEM, {
    ...{ paths, shared_with, left_out: restored.length - paths.length },
  });
  // A script that was written again with the same content did no harm.
  const harmful = restored.filter(({ change }) => change !== "rewritten");
  if (harmful.length === 0) {
    await ledger.commit({ statements: [], events: [told] });
    return;
  }
  const id = environment.id();
  const shown = harmful.slice(0, 3).map(({ path }) => `"${path}"`).join(", ");
  const more = harmful.length > 3 ? ` and ${harmful.length - 3} more` : "";
  const reason = `The command of action ${row.id} changed ${shown}${more} without permission`;
  await ledger.commit({
    statements: [insertBlock({
      ...{ id, project_id, session_id: row.session_id, action_id: row.id, reason },
      ...{ created_at: timestamp(environment), lifted_at: null, lifted_by: null },
    })],
    events: [told, eventOf(row, "block.added", BY_SYSTEM, { block_id: id, reason })],
  });
}
