import { setImmediate as pause } from "node:timers/promises";
import { readCursor, toPage } from "../../db/cursor.ts";
import type { Ledger, Statement } from "../../db/ledger.ts";
import { listInOrder } from "./order.ts";
import type { ActionList, ActionQuery } from "./schema.ts";
import type { Action } from "../schema.ts";
import { openSpans } from "./open_spans_store.ts";
import { PUBLIC, TITLE, toListed } from "../store.ts";
import {
  indexScan,
  type Match,
  restOf,
  type Scan,
  scansOf,
  selectAll,
  selectFew,
  type Span,
  toMatch,
  wordScan,
} from "./scan_store.ts";

/**
 * The number of rows that the first statement examines, and the most for a later one. Reads block the
 * event loop, so each statement is short.
 */
const FIRST_STRIDE = 256;
const MOST_STRIDE = 2_000;

/** A search for several words examines this many action numbers in its first statement. */
const FIRST_WINDOW = 100_000;
const MOST_WINDOW = 400_000;
/** After a statement that took fewer milliseconds the next one examines more rows, else fewer. */
const QUICK_MS = 5;
/** Below this many milliseconds the rest is read in a single statement. */
const NOTHING_MS = 0.5;

/** Testing a row for a word costs about as much as reading this many rows. */
const WORD_IN_ROW = 20;

const COLUMNS = [...PUBLIC.map((name) => `actions.${name}`), TITLE].join(", ");

/** At most `limit` actions after the cursor, in the queried order. */
export async function listActions(
  ledger: Ledger,
  query: ActionQuery,
  limit: number,
): Promise<ActionList> {
  return await listInOrder(query, limit, (part, most) => listByTime(ledger, part, most));
}

async function listByTime(
  ledger: Ledger,
  query: ActionQuery,
  limit: number,
): Promise<ActionList> {
  let span = await spanOf(ledger, query);
  const walk = await walkFor(ledger, query, { span, limit });
  const found: Action[] = [];
  while (walk !== null && span.before > span.low) {
    const step = walk.step(span, limit + 1 - found.length);
    let started = 0;
    // Both reads start at once: a change in between could skip a row or repeat one.
    const [rows, rest] = await ledger.caughtUp(step.sql, () => {
      started = performance.now();
      return Promise.all([ledger.all(step.sql, step.args), step.rest()]);
    });
    walk.took(performance.now() - started);
    found.push(...rows.map(toListed));
    if (found.length > limit) break;
    span = rest;
    if (span.before > span.low) await pause();
  }
  return toPage(found, limit);
}

/** The number of the first action in that hour or a later one. */
export async function firstSince(ledger: Ledger, since: string): Promise<number> {
  const [row] = await ledger.all(
    "SELECT min(first_seq) AS seq FROM action_hours WHERE project_id = ? AND hour >= ?",
    [ledger.project_id, since.slice(0, 13)],
  );
  return Number(row?.seq ?? Number.MAX_SAFE_INTEGER);
}

/** The range of action numbers for the queried time, after the cursor in the queried order. */
async function spanOf(ledger: Ledger, { cursor, from, to, order }: ActionQuery): Promise<Span> {
  const end = readCursor(cursor);
  const rises = order === "oldest";
  const [row] = from === undefined && to === undefined
    ? await ledger.all("SELECT 1 AS low, max(seq) AS high FROM actions WHERE project_id = ?", [
      ledger.project_id,
    ])
    : await ledger.all(
      `SELECT
        (SELECT min(first_seq) FROM action_hours WHERE project_id = ?1 AND hour >= ?2) AS low,
        (SELECT max(last_seq) FROM action_hours WHERE project_id = ?1 AND hour <= ?3) AS high`,
      [ledger.project_id, (from ?? "").slice(0, 13), (to ?? "~").slice(0, 13)],
    );
  if (row?.low == null || row.high == null) return { low: 1, before: 1 };
  const [low, before] = [Number(row.low), Number(row.high) + 1];
  if (cursor === undefined) return { low, before };
  return rises ? { low: Math.max(low, end + 1), before } : { low, before: Math.min(before, end) };
}

/** Reads a list in several statements, newest or oldest first. */
interface Walk {
  /** The next statement in the span. */
  step: (span: Span, limit: number) => Step;
  /** Receives how long the statement took. */
  took: (ms: number) => void;
}

interface Step extends Statement {
  /** The part of the span that the statement leaves. */
  rest: () => Promise<Span>;
}

/** The walk that examines the fewest rows; null if no action can match. */
async function walkFor(
  ledger: Ledger,
  query: ActionQuery,
  { span, limit }: { span: Span; limit: number },
): Promise<Walk | null> {
  const match = query.q === undefined ? null : toMatch(query.q);
  if (query.q !== undefined && match === null) return null;
  const filtered = scansOf(ledger, query);
  if (match === null) {
    const scans = filtered.length > 0 ? filtered : [indexScan(ledger, query, null)];
    const scan = scans.length === 1 ? scans[0]! : (await rarest(ledger, scans, span)).scan;
    return byRows(ledger, scan);
  }
  const words = wordScan(ledger, query, match);
  if (!match.isOne) {
    const open = await openSpans(ledger, match.text, span);
    return open.length === 0 ? null : byWindows(words, open);
  }
  if (filtered.length === 0) return byRows(ledger, words);
  const rare = await rarest(ledger, filtered, span);
  // Follow the filter only if it has far fewer rows than the word.
  const isFew = rare.spread > WORD_IN_ROW * FIRST_STRIDE;
  if (isFew && rare.spread > WORD_IN_ROW * await spreadOf(ledger, words, span)) {
    return byRows(ledger, rare.scan, { words: match });
  }
  // If word and filter are independent, a page of both takes about this many rows of the word.
  return byRows(ledger, words, { stride: 1.5 * limit * rare.spread / FIRST_STRIDE });
}

/** The scan with the fewest rows, estimated by its next rows: the rarest are spread the widest. */
async function rarest(ledger: Ledger, scans: Scan[], span: Span) {
  const spreads = await Promise.all(scans.map((scan) => spreadOf(ledger, scan, span)));
  const at = spreads.indexOf(Math.max(...spreads));
  return { scan: scans[at]!, spread: spreads[at]! };
}

/** The number of actions over which the next rows of a scan are spread. */
async function spreadOf(ledger: Ledger, scan: Scan, span: Span): Promise<number> {
  const rest = await restOf(ledger, scan, span, FIRST_STRIDE);
  return span.before - span.low - (rest.before - rest.low);
}

/** Reads a number of rows at a time. */
function byRows(
  ledger: Ledger,
  scan: Scan,
  { words = null, stride = FIRST_STRIDE }: { words?: Match | null; stride?: number } = {},
): Walk {
  const isPlain = scan.others.sql === "" && words === null;
  let next = Math.min(MOST_STRIDE, Math.max(FIRST_STRIDE, Math.ceil(stride)));
  return {
    step(span, limit) {
      const columns = { columns: COLUMNS, limit };
      if (isPlain) {
        return {
          ...selectAll(scan, span, columns),
          rest: () => Promise.resolve({ ...span, before: span.low }),
        };
      }
      const rows = next;
      return {
        ...selectFew(scan, span, { ...columns, words, rows }),
        rest: () => restOf(ledger, scan, span, rows),
      };
    },
    took(ms) {
      next = ms > QUICK_MS ? FIRST_STRIDE : Math.min(MOST_STRIDE, next * 4);
    },
  };
}

/** Reads a range of action numbers at a time, in those parts of the span that may hold matches. */
function byWindows(scan: Scan, open: readonly Span[]): Walk {
  const rises = scan.order === "ASC";
  const next = ({ low, before }: Span) => {
    const part = rises
      ? open.find((one) => one.before > low)
      : open.findLast((one) => one.low < before);
    const [from, until] = [Math.max(part?.low ?? low, low), Math.min(part?.before ?? low, before)];
    return { low: from, before: until };
  };
  // With other filters each row in the window is tested, so the window is smaller.
  const isPlain = scan.others.sql === "";
  const first = isPlain ? FIRST_WINDOW : FIRST_WINDOW / 20;
  let window = first;
  return {
    step(whole, limit) {
      const { low, before } = next(whole);
      const span = rises
        ? { low, before: Math.min(before, low + window) }
        : { low: Math.max(low, before - window), before };
      const left = rises ? { ...whole, low: span.before } : { ...whole, before: span.low };
      const { sql, args } = selectAll(scan, span, { columns: COLUMNS, limit });
      const isOver = next(left).low >= next(left).before;
      return { sql, args, rest: () => Promise.resolve(isOver ? { low: 1, before: 1 } : left) };
    },
    took(ms) {
      if (isPlain && ms < NOTHING_MS) window = Infinity; // a rare word
      else window = ms > QUICK_MS ? first : Math.min(MOST_WINDOW, window * 4);
    },
  };
}
