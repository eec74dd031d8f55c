import { setImmediate as pause } from "node:timers/promises";
import type { Ledger, Row, Value } from "../db/ledger.ts";
import { RARE } from "../db/ledger_migrations.ts";
import { type Bounds, MOST_HOURS } from "./schema.ts";

/** An action that was submitted or decided in a range. */
export interface Counted {
  seq: number;
  created_at: string;
  decided_at: string | null;
  decided_by: string | null;
  status: string;
  agent: string;
  tool: string;
  path: string | null;
  effect: string | null;
  source: string | null;
  list: string | null;
  pattern: string | null;
}

/** The first and the last of some numbers of rows (`seq`), both included. */
export interface Numbers {
  first: number;
  last: number;
}

const NONE: Numbers = { first: 1, last: 0 };
const LAST = "~";
/** One value for a row: several values would cost more than the text. */
const COUNTED = `json_object('seq', actions.seq, 'created_at', created_at, 'decided_at', decided_at,
  'decided_by', decided_by, 'status', status, 'agent', agent, 'tool', tool,
  'path', CASE WHEN status = 'blocked' THEN path END,
  'effect', json_extract(actions.decision, '$.effect'), 'source', ${ofRule("source")},
  'list', ${ofRule("list")}, 'pattern', ${ofRule("pattern")})`;
const DECIDED = "decided_at >= ? AND decided_at < ?";

/** The numbers of the actions that were submitted in the hours of the range, cut hours included. */
export async function numbersOf(ledger: Ledger, { from, to }: Bounds): Promise<Numbers> {
  const [row] = await ledger.all(
    `SELECT min(first_seq) AS first, max(last_seq) AS last FROM action_hours
      WHERE project_id = ? AND hour >= ? AND hour <= ?`,
    [ledger.project_id, from.slice(0, 13), to?.slice(0, 13) ?? LAST],
  );
  return row?.first == null ? NONE : { first: Number(row.first), last: Number(row.last) };
}

/** The actions among these numbers that were submitted or decided in the range. */
export async function listSubmitted(
  ledger: Ledger,
  { from, to }: Bounds,
  { first, last }: Numbers,
): Promise<Counted[]> {
  const times = [from, to ?? LAST];
  const rows = await ledger.all(
    `SELECT ${COUNTED} AS counted FROM actions NOT INDEXED
      WHERE project_id = ? AND number >= ? AND number <= ?
        AND ((created_at >= ? AND created_at < ?) OR (${DECIDED})) ORDER BY number`,
    [ledger.project_id, first, last, ...times, ...times],
  );
  return rows.map(toCounted);
}

/** The events in which a person, an agent or gate decided about a held action. */
const DECISIONS = `type IN ('action.approved', 'action.rejected', 'action.expired',
  'action.cancelled') AND ${RARE.type}`;

/** The numbers of the events of the range. An event is written shortly after its decision. */
export async function eventsOf(ledger: Ledger, { from, to }: Bounds): Promise<Numbers> {
  const end = to === null ? LAST : timeOf(Date.parse(to) + LATE_MS);
  const last = timeOf(Date.parse(from) + MOST_HOURS * HOUR_MS);
  let found = NONE;
  // A statement reads the events of one hour, so that a day with many events blocks nobody.
  for (let hour = from; hour < end;) {
    const next = hour < last ? earlier(timeOf(Date.parse(hour) + HOUR_MS), end) : end;
    const [row] = await ledger.all(
      `SELECT min(seq) AS first, max(seq) AS last FROM audit_index
        WHERE project_id = ? AND name = 'at' AND value >= ? AND value < ?`,
      [ledger.project_id, hour, next],
    );
    if (row?.first != null) {
      found = joined(found, { first: Number(row.first), last: Number(row.last) });
    }
    hour = next;
    await pause();
  }
  return found;
}

/** The longest time from a decision to its event. */
const LATE_MS = 60_000;
const HOUR_MS = 3_600_000;

function joined(a: Numbers, b: Numbers): Numbers {
  if (a.first > a.last) return b;
  return { first: Math.min(a.first, b.first), last: Math.max(a.last, b.last) };
}

function earlier(a: string, b: string): string {
  return a < b ? a : b;
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}

/** A page of the decisions in the range, except those about some actions. `end` is its last event. */
export async function listDecided(
  ledger: Ledger,
  { from, to }: Bounds,
  { events, except, limit }: { events: Numbers; except: Numbers; limit: number },
): Promise<{ counted: Counted[]; rows: number; end: number }> {
  const args: Value[] = [ledger.project_id, events.first, events.last, limit];
  const rows = await ledger.all(
    `SELECT events.seq AS event, CASE WHEN ${DECIDED} AND NOT actions.seq BETWEEN ? AND ?
        THEN ${COUNTED} END AS counted
      FROM (SELECT seq, project_id, action_id FROM audit WHERE project_id = ? AND ${DECISIONS}
        AND seq >= ? AND seq <= ? ORDER BY seq LIMIT ?) AS events
      CROSS JOIN actions ON actions.project_id = events.project_id
        AND actions.id = events.action_id`,
    [from, to ?? LAST, except.first, except.last, ...args],
  );
  return {
    counted: rows.filter(({ counted }) => counted !== null).map(toCounted),
    rows: rows.length,
    end: Math.max(0, ...rows.map(({ event }) => Number(event))),
  };
}

function ofRule(name: string): string {
  return `json_extract(actions.decision, '$.rule.${name}')`;
}

function toCounted({ counted }: Row): Counted {
  return JSON.parse(String(counted)) as Counted;
}
