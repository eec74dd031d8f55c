import type { HeldRoute } from "../../approval_routes/schema.ts";
import type { NewEvent } from "../../db/ledger.ts";
import { type ActionServices, timestamp } from "../context.ts";
import { type DeadlineSource, doEach } from "../execute/deadlines.ts";
import type { ActionRow } from "../store.ts";
import { BY_SYSTEM, eventOf, transition } from "../transition.ts";
import type { Escalation } from "./schema.ts";
import {
  listNotices,
  listNoticesOf,
  listRouted,
  type Notice,
  unlessNoted,
} from "./notices_store.ts";
import { standingOf } from "./standing.ts";

/** Something that a held action is due for before its deadline. */
export interface Due {
  type: "reminder.sent" | "escalation.raised";
  /** The number of the reminder, or the level of the escalation, from 1. */
  number: number;
  at: string;
}

interface Waiting {
  route: HeldRoute | null;
  created_at: string;
  expires_at: string | null;
  events: readonly Pick<Notice, "type" | "data">[];
}

/** The reminders and escalations that an action has not had yet, by time. They never decide. */
export function duesOf({ route, created_at, expires_at, events }: Waiting): Due[] {
  if (route === null) return [];
  const start = Date.parse(created_at);
  const at = (ms: number) => new Date(start + Math.round(ms)).toISOString();
  const span = expires_at === null ? null : Date.parse(expires_at) - start;
  const { remind_at, escalate_after_seconds } = route;
  const reminders = span === null ? [] : remind_at.map((part, index): Due => ({
    type: "reminder.sent",
    number: index + 1,
    at: at(part * span),
  }));
  const escalations: Due[] = escalate_after_seconds === null
    ? []
    : [{ type: "escalation.raised", number: 1, at: at(escalate_after_seconds * 1000) }];
  const done = new Set(events.map(({ type, data }) => `${type} ${data.number}`));
  return [...reminders, ...escalations]
    .filter((due) => !done.has(`${due.type} ${due.number}`))
    .filter((due) => expires_at === null || due.at < expires_at)
    .toSorted((a, b) => a.at < b.at ? -1 : 1);
}

/** The time of the first of them; null if there is none. */
export function firstNotice(waiting: Waiting): string | null {
  return duesOf(waiting)[0]?.at ?? null;
}

/** Reminds the approvers of held actions and asks more of them, each once. */
export class Notices implements DeadlineSource {
  readonly #services: ActionServices;

  constructor(services: ActionServices) {
    this.#services = services;
  }

  async run(): Promise<void> {
    const now = timestamp(this.#services.environment);
    await doEach(await this.#waiting(), async ({ row, dues }) => {
      for (const due of dues.filter(({ at }) => at <= now)) await this.#note(row, due, now);
    });
  }

  async next(): Promise<string | null> {
    const firsts = (await this.#waiting()).flatMap(({ dues }) => dues[0]?.at ?? []);
    return firsts.toSorted()[0] ?? null;
  }

  async #waiting(): Promise<{ row: ActionRow; dues: Due[] }[]> {
    const { ledger } = this.#services;
    const rows = await listRouted(ledger, { own: true });
    if (rows.length === 0) return [];
    const notices = await listNotices(ledger);
    return rows.map((row) => {
      const events = notices.filter(({ action_id }) => action_id === row.id);
      return { row, dues: duesOf({ ...row, events }) };
    });
  }

  async #note(row: ActionRow, { type, number }: Due, now: string): Promise<void> {
    const { ledger, project_id, environment } = this.#services;
    const { id: route_id, escalate_to: to } = row.route!;
    if (type === "escalation.raised") {
      const escalation_id = environment.id();
      // A transition: a decision on the state before it would leave the escalation open.
      await transition(this.#services, row, {
        from: { status: "pending", decision_id: row.decision_id, unexpired_at: now },
        to: {},
        by: BY_SYSTEM,
        type,
        why: { route_id, number, escalation_id, level: number, to },
      });
      return;
    }
    const asked = (await standingOf(this.#services, row))?.asked ?? [];
    const data = { route_id, number, to: asked, deadline: row.expires_at };
    await ledger.commit({
      statements: [],
      events: [eventOf(row, type, BY_SYSTEM, data)],
      when: unlessNoted(project_id, { action_id: row.id, type, number, now }),
    });
  }
}

/** The escalations of the held actions, oldest first. */
export async function listEscalations({ ledger }: ActionServices): Promise<Escalation[]> {
  return (await listNotices(ledger)).filter(isEscalation).map(toEscalation);
}

/** The events that close the escalations of an action, for the commit that decides on it. */
export async function closing({ ledger }: ActionServices, row: ActionRow): Promise<NewEvent[]> {
  if (row.route === null || row.route.escalate_after_seconds === null) return [];
  const raised = (await listNoticesOf(ledger, row.id)).filter(isEscalation).map(toEscalation);
  return raised.map(({ id: escalation_id, route_id, level }) =>
    eventOf(row, "escalation.closed", BY_SYSTEM, { escalation_id, route_id, level })
  );
}

function isEscalation({ type }: Notice): boolean {
  return type === "escalation.raised";
}

function toEscalation({ action_id, at, data }: Notice): Escalation {
  const { escalation_id, route_id, level, to } = data;
  return {
    id: String(escalation_id),
    action_id,
    route_id: String(route_id),
    level: Number(level),
    raised_at: at,
    to: to as string[],
  };
}
