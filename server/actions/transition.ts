import type { Caller } from "../auth/schema.ts";
import type { NewEvent, Statement } from "../db/ledger.ts";
import type { ActionServices } from "./context.ts";
import {
  type ActionRow,
  COLUMNS,
  type Fields,
  insertAction,
  type NewRow,
  type Precondition,
  selectExisting,
  toRow,
  updateAction,
} from "./store.ts";

/** Who causes an event, as the audit chain names them. */
export type Actor = NewEvent["actor"];

export const BY_POLICY: Actor = { kind: "policy", id: "policy" };
export const BY_SYSTEM: Actor = { kind: "system", id: "gate" };

/** A change of one action. */
export interface Transition {
  /** The action changes only while all of this holds. */
  from: Precondition;
  to: Fields;
  /** Who changes it. */
  by: Actor;
  /** The event that records the change. */
  type: NewEvent["type"];
  /** The event's data: why the action changes, and how. */
  why: Record<string, unknown>;
  /** Events that are appended in front of this one and after it, under the same condition. */
  earlier?: NewEvent[];
  later?: NewEvent[];
  /** Statements that run first, unconditionally: they insert contents. */
  before?: Statement[];
  /** Statements that run last; `changed` is a SELECT that finds a row only if the action changed. */
  after?: (changed: Statement) => Statement[];
  /**
   * The row was inserted or checked by this process, and nothing else may have changed it but its
   * conflicts. Only these are read again: whoever can write the ledger could change the rest in the
   * very statement that starts the action.
   */
  is_own?: boolean;
  /** Recovery would repeat this transition from what is durable, so it need not wait for the disk. */
  is_derivable?: boolean;
  /** It becomes durable only when this has settled. */
  durable_after?: Promise<void>;
  /**
   * The precondition holds, and nothing else changes the row meanwhile, not even its conflicts: a
   * derivable commit may then follow the answer.
   */
  is_certain?: boolean;
}

/**
 * Changes an action in one compare-and-set commit, with the events that record it. Of several
 * callers that race one wins. Returns the changed row, or null if the precondition did not hold.
 */
export async function transition(
  { ledger, project_id, environment }: ActionServices,
  row: ActionRow,
  {
    from,
    to,
    by,
    type,
    why,
    earlier = [],
    later = [],
    before = [],
    after,
    is_own = false,
    is_derivable,
    durable_after,
    is_certain,
  }: Transition,
): Promise<ActionRow | null> {
  const decision_id = environment.id();
  const changed = selectExisting(project_id, row.id, decision_id);
  const { rows, events } = await ledger.commit({
    statements: [
      ...before,
      updateAction(
        project_id,
        row.id,
        { ...to, decision_id },
        from,
        is_own ? "conflicts" : COLUMNS,
      ),
      ...after?.(changed) ?? [],
    ],
    events: [...earlier, eventOf(row, type, by, why), ...later],
    when: changed,
    is_derivable,
    durable_after,
    is_certain,
  });
  if (is_certain) return events.length > 0 ? { ...row, ...to, decision_id } : null;
  const found = rows[before.length]?.[0];
  if (!found) return null;
  return is_own ? { ...row, ...to, decision_id, conflicts: toRow(found).conflicts } : toRow(found);
}

/** The commit of a new action. */
export interface Insertion {
  events: NewEvent[];
  before?: Statement[];
  /** A condition: if it does not hold, nothing is inserted and no event is appended. */
  only?: Statement;
  /** Statements that run last; `inserted` is a SELECT that finds a row only after the insert. */
  after?: (inserted: Statement) => Statement[];
  /** Called when it is inserted and the disk may not have it yet; must not throw. */
  on_inserted?: () => void;
}

/** Inserts an action and appends its events in one commit. Returns null if `only` did not hold. */
export async function insertNew(
  { ledger, project_id }: ActionServices,
  row: NewRow,
  { events, before = [], only, after, on_inserted }: Insertion,
): Promise<ActionRow | null> {
  const inserted = selectExisting(project_id, row.id);
  const { rows } = await ledger.commit({
    statements: [...before, insertAction(row, only), ...after?.(inserted) ?? []],
    events,
    ...only && { when: inserted },
    on_appended: on_inserted,
  });
  const returned = rows[before.length]?.[0];
  return returned ? { ...row, seq: Number(returned.seq) } : null;
}

/** An audit event about an action. */
export function eventOf(
  row: Pick<ActionRow, "id" | "session_id">,
  type: NewEvent["type"],
  actor: Actor,
  data: Record<string, unknown> = {},
): NewEvent {
  return { session_id: row.session_id, action_id: row.id, type, actor, data };
}

/** The actor behind a call: the agent, or the person whose credential it carries. */
export function actorOf(caller: Caller, agent: string): Actor {
  return caller.scope === "agent"
    ? { kind: "agent", id: agent }
    : { kind: "reviewer", id: caller.id };
}
