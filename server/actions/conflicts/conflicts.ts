import type { NewEvent, Statement } from "../../db/ledger.ts";
import { shownText } from "../contents.ts";
import { type ActionServices, loadAction } from "../context.ts";
import type { PlannedChange } from "../plan.ts";
import type { ActionDetail, Conflict } from "../schema.ts";
import { type ActionRow, type NewRow, toRow } from "../store.ts";
import { shownPath } from "../submit/target.ts";
import { unifiedDiff } from "../texts.ts";
import { toolOf } from "../tools.ts";
import { BY_SYSTEM, eventOf } from "../transition.ts";
import { addConflict, findUnreviewed, hasRival, listHolders, type Rival } from "./store.ts";

/** The real paths of the files that an action changes or may change. */
export function pathsOf({ plan }: Pick<ActionRow, "plan">): string[] {
  return plan ? [...plan.changes.map(({ path }) => path), ...plan.reach ?? []] : [];
}

/** The same conflict, as the other action records it. */
const OTHER_SIDE = {
  both_hold: "both_hold",
  overwrites: "overwritten_by",
  overwritten_by: "overwrites",
  held_by: "changed_by",
  changed_by: "held_by",
} as const satisfies Record<Conflict["kind"], Conflict["kind"]>;

/**
 * Records conflicts with other sessions, on both actions: several hold changes of the same file, or
 * one replaces a content that another one wrote and nobody reviewed. Returns the row with its conflicts.
 */
export async function noteConflicts(
  services: ActionServices,
  row: ActionRow,
  paths: readonly string[],
): Promise<ActionRow> {
  return await recordConflicts(services, row, await findConflicts(services, row, paths));
}

/** A conflict of an action with one of another session. */
interface Found {
  kind: Conflict["kind"];
  rival: Rival;
}

/** Records the conflicts that `findConflicts` has found. Returns the row with its conflicts. */
export async function recordConflicts(
  services: ActionServices,
  row: ActionRow,
  found: readonly Found[],
): Promise<ActionRow> {
  if (found.length === 0) return row;
  const statements: Statement[] = [];
  const events: NewEvent[] = [];
  for (const { kind, rival } of found) {
    const sides = [[row, rival.row, kind], [rival.row, row, OTHER_SIDE[kind]]] as const;
    for (const [one, other, side] of sides) {
      const conflict = describe(one, other, side, rival.path);
      if (one.conflicts.some((known) => isSame(known, conflict))) continue;
      statements.push(addConflict(services.project_id, one.id, conflict));
      events.push(eventOf(one, "action.conflicted", BY_SYSTEM, { ...conflict }));
    }
  }
  if (statements.length === 0) return row;
  const { rows } = await services.ledger.commit({ statements, events });
  const own = rows.flat().map(toRow).findLast(({ id }) => id === row.id);
  return own ?? await loadAction(services, row.id);
}

/** The earlier writer is looked up for at most this many files of an action. */
const MAX_FILES = 50;

/**
 * The search for the conflicts of a new action. It begins while the start of the action waits for the
 * disk, because then the processor has nothing else to do.
 */
export class ConflictSearch {
  readonly #services: ActionServices;
  readonly #row: NewRow;
  /** The head of the ledger when nothing was found; null if something was. */
  #clear_at: Promise<number | null> = Promise.resolve(null);

  constructor(services: ActionServices, row: NewRow) {
    this.#services = services;
    this.#row = row;
  }

  begin(): void {
    const { seq } = this.#services.ledger.head;
    this.#clear_at = findConflicts(this.#services, this.#row, pathsOf(this.#row))
      .then(({ length }) => length === 0 ? seq : null, () => null);
  }

  /** Returns the present conflicts. Searches again if anything was committed meanwhile. */
  async end(): Promise<Found[]> {
    if (await this.#clear_at === this.#services.ledger.head.seq) return [];
    return await findConflicts(this.#services, this.#row, pathsOf(this.#row));
  }
}

/** The conflicts of an action that holds changes of these files, or has just changed them. */
async function findConflicts(
  { ledger }: ActionServices,
  row: NewRow,
  paths: readonly string[],
): Promise<Found[]> {
  if (paths.length === 0 || toolOf(row.tool).undoes) return [];
  const replaced = (row.plan?.changes ?? []).flatMap(({ path, before }) =>
    before ? [{ path, sha256: before.sha256 }] : []
  ).slice(0, MAX_FILES);
  if (!await hasRival(ledger, row, paths, replaced)) return [];
  const held = await listHolders(ledger, row.session_id, paths);
  const written: Rival[] = [];
  for (const one of replaced) {
    const rival = await findUnreviewed(ledger, row, one);
    if (rival) written.push(rival);
  }
  const kind = row.status === "pending" ? "both_hold" as const : "held_by" as const;
  return [
    ...held.map((rival) => ({ kind, rival })),
    ...written.map((rival) => ({ kind: "overwrites" as const, rival })),
  ];
}

function describe(
  one: ActionRow,
  other: ActionRow,
  kind: Conflict["kind"],
  path: string,
): Conflict {
  const { id: action_id, session_id, agent } = other;
  return { kind, action_id, session_id, agent, path: shownPath(path, one.root) };
}

function isSame(a: Conflict, b: Conflict): boolean {
  return a.kind === b.kind && a.action_id === b.action_id && a.path === b.path;
}

/** The conflicts of an action, with the present state and the diff of the other actions. */
export async function detailConflicts(
  services: ActionServices,
  row: ActionRow,
): Promise<ActionDetail["conflicts"]> {
  return await Promise.all(row.conflicts.map(async (conflict) => {
    const other = await loadAction(services, conflict.action_id);
    const { tool, status, execution, command } = other;
    const diff = await diffOf(services, other, conflict.path);
    return { ...conflict, tool, status, execution, command, diff };
  }));
}

async function diffOf(
  services: ActionServices,
  other: ActionRow,
  shown: string,
): Promise<string | null> {
  const change = other.plan?.changes.find((one) => one.shown === shown);
  if (!change) return null;
  const [before, after] = await Promise.all([
    textOf(services, change.before),
    textOf(services, change.after),
  ]);
  return before === null || after === null ? null : unifiedDiff(shown, before, after);
}

async function textOf(
  services: ActionServices,
  state: PlannedChange["before"] | PlannedChange["after"],
): Promise<string | null> {
  return state ? await shownText(services, state.sha256) : "";
}
