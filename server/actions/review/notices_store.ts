import type { Ledger, Statement } from "../../db/ledger.ts";
import { ownActions } from "../../db/machines.ts";
import { type ActionRow, COLUMNS, toRow } from "../store.ts";

/** A reminder or an escalation that was recorded. */
export interface Notice {
  action_id: string;
  type: string;
  at: string;
  data: Record<string, unknown>;
}

const TYPES = "('reminder.sent', 'escalation.raised')";

/** The held actions with an approval route, oldest first; with `own` those of this machine. */
export async function listRouted(
  ledger: Ledger,
  { own = false }: { own?: boolean } = {},
): Promise<ActionRow[]> {
  const rows = await ledger.all(
    `SELECT ${COLUMNS} FROM actions INDEXED BY actions_routed
      WHERE project_id = ? AND status = 'pending' AND route IS NOT NULL${
      own ? ownActions(ledger) : ""
    } ORDER BY seq LIMIT 10000`,
    [ledger.project_id],
  );
  return rows.map(toRow);
}

/** The reminders and escalations of the held actions with a route, oldest first. */
export async function listNotices(ledger: Ledger): Promise<Notice[]> {
  return await readNotices(
    ledger,
    `action_id IN (SELECT id FROM actions INDEXED BY actions_routed
      WHERE project_id = ? AND status = 'pending' AND route IS NOT NULL)`,
    ledger.project_id,
  );
}

/** The reminders and escalations of one action, oldest first. */
export async function listNoticesOf(ledger: Ledger, action_id: string): Promise<Notice[]> {
  return await readNotices(ledger, "action_id = ?", action_id);
}

/** A condition: the action is held, its deadline is later, and it has no such notice yet. */
export function unlessNoted(
  project_id: string,
  { action_id, type, number, now }: {
    action_id: string;
    type: string;
    number: number;
    now: string;
  },
): Statement {
  return {
    sql: `SELECT 1 FROM actions WHERE project_id = ? AND id = ? AND status = 'pending'
      AND (expires_at IS NULL OR expires_at > ?)
      AND NOT EXISTS (SELECT 1 FROM audit WHERE project_id = ? AND action_id = ? AND type = ?
        AND json_extract(data, '$.number') = ?)`,
    args: [project_id, action_id, now, project_id, action_id, type, number],
  };
}

async function readNotices(ledger: Ledger, where: string, arg: string): Promise<Notice[]> {
  const rows = await ledger.all(
    `SELECT action_id, type, at, data FROM audit
      WHERE project_id = ? AND ${where} AND type IN ${TYPES} ORDER BY seq`,
    [ledger.project_id, arg],
  );
  return rows.map(({ action_id, type, at, data }) => ({
    action_id: String(action_id),
    type: String(type),
    at: String(at),
    data: JSON.parse(String(data)),
  }));
}
