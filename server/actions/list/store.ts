import { setImmediate as pause } from "node:timers/promises";
import { readCursor, toPage } from "../../db/cursor.ts";
import type { Ledger, Statement } from "../../db/ledger.ts";
import { BLOCK } from "../../db/ledger_migrations.ts";
import { listInOrder } from "./order.ts";
import type { ActionList, ActionQuery } from "./schema.ts";
import type { Action } from "../schema.ts";
import { type OpenSpan, openSpans, partsOf } from "./open_spans_store.ts";
import { NAMED, PUBLIC, toListed } from "../store.ts";
import {
  apartScan,
  hasEach,
  indexScan,
  type Match,
  orderOf,
  restOf,
  type Scan,
  scansOf,
  selectAll,
  selectFew,
  skipGap,
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

const COLUMNS = [...PUBLIC.map((name) => `actions.${name}`), NAMED].join(", ");

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
  const span = await spanOf(ledger, query);
  const match = query.q === undefined ? null : toMatch(query.q);
  const found: Action[] = [];
  if (query.q !== undefined && match === null) return toPage(found, limit);
  if (match === null || match.isOne) {
    const walk = await walkFor(ledger, query, { span, limit, match });
    await follow(ledger, walk, { span, limit, found });
  } else if (await hasEach(ledger, match)) {
    for (const part of partsOf(span, orderOf(query))) {
      const open = await openSpans(ledger, match.text, { span: part, order: orderOf(query) });
      await follow(ledger, byWindows(ledger, query, { match, open }), { span: part, limit, found });
      if (found.length > limit) break;
    }
  }
  return toPage(found, limit);
}

/** Adds the next actions of the walk to those that were found, until they are more than the limit. */
async function follow(
  ledger: Ledger,
  walk: Walk,
  { span, limit, found }: { span: Span; limit: number; found: Action[] },
): Promise<void> {
  let left = walk.skip?.(span) ?? span;
  while (left.before > left.low) {
    const step = walk.step(left, limit + 1 - found.length);
    let started = 0;
    // Both reads start at once: a change in between could skip a row or repeat one.
    const [rows, rest] = await ledger.caughtUp(step.sql, () => {
      started = performance.now();
      return Promise.all([ledger.all(step.sql, step.args), step.rest()]);
    });
    walk.took(performance.now() - started);
    found.push(...rows.map(toListed));
    if (found.length > limit) return;
    left = rest;
    if (left.before > left.low) await pause();
  }
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
  // The table has a row for each hour, so it is read only for an end that is asked for.
  const low_sql = from === undefined
    ? "1"
    : "(SELECT min(first_seq) FROM action_hours WHERE project_id = ?1 AND hour >= ?2)";
  const high_sql = to === undefined
    ? "(SELECT max(number) FROM actions)"
    : "(SELECT max(last_seq) FROM action_hours WHERE project_id = ?1 AND hour <= ?3)";
  const [row] = await ledger.all(
    `SELECT ${low_sql} AS low, ${high_sql} AS high WHERE ?2 IS NOT NULL AND ?3 IS NOT NULL`,
    [ledger.project_id, (from ?? "").slice(0, 13), (to ?? "").slice(0, 13)],
  );
  if (row?.low == null || row.high == null) return { low: 1, before: 1 };
  const [low, before] = [Number(row.low), Number(row.high) + 1];
  if (cursor === undefined) return { low, before };
  return rises ? { low: Math.max(low, end + 1), before } : { low, before: Math.min(before, end) };
}

/** Reads a list in several statements, newest or oldest first. */
interface Walk {
  /** Leaves out the begin of a span, as far as it holds nothing. */
  skip?: (span: Span) => Span;
  /** The next statement in the span. */
  step: (span: Span, limit: number) => Step;
  /** Receives how long the statement took. */
  took: (ms: number) => void;
}

interface Step extends Statement {
  /** The part of the span that the statement leaves. */
  rest: () => Promise<Span>;
}

/** The walk that examines the fewest rows, for one word at most. */
async function walkFor(
  ledger: Ledger,
  query: ActionQuery,
  { span, limit, match }: { span: Span; limit: number; match: Match | null },
): Promise<Walk> {
  const filtered = scansOf(ledger, query);
  if (match === null) {
    const scans = filtered.length > 0 ? filtered : [indexScan(ledger, query, null)];
    const scan = scans.length === 1 ? scans[0]! : (await rarest(ledger, scans, span)).scan;
    return byRows(ledger, scan);
  }
  const words = wordScan(ledger, query, match);
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
      if (scan.isWhole) {
        const { part, rest } = cut(span, rows, scan.order);
        return { ...selectAll(scan, part, columns), rest: () => skipGap(ledger, scan, rest) };
      }
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

/** The next `rows` numbers of a span, and the rest of it. */
function cut({ low, before }: Span, rows: number, order: Scan["order"]) {
  const end = order === "ASC" ? Math.min(before, low + rows) : Math.max(low, before - rows);
  const [older, newer] = [{ low, before: end }, { low: end, before }];
  return order === "ASC" ? { part: older, rest: newer } : { part: newer, rest: older };
}

/** Reads a range of action numbers at a time, in those parts of the span that may hold matches. */
function byWindows(
  ledger: Ledger,
  query: ActionQuery,
  { match, open }: { match: Match; open: readonly OpenSpan[] },
): Walk {
  const [scan, apart] = [wordScan(ledger, query, match), apartScan(ledger, query, match)];
  const whole = indexScan(ledger, query, null);
  const rises = scan.order === "ASC";
  /** The next part that may hold matches, within what is left. */
  const next = ({ low, before }: Span): OpenSpan => {
    const part = rises
      ? open.find((one) => one.before > low)
      : open.findLast((one) => one.low < before);
    if (part === undefined) return { low, before: low, is_apart: false };
    return { ...part, low: Math.max(part.low, low), before: Math.min(part.before, before) };
  };
  const afterClosed = (left: Span): Span => {
    const { low, before } = next(left);
    if (before <= low) return { low: 1, before: 1 };
    return rises ? { ...left, low } : { ...left, before };
  };
  // With other filters each row in the window is tested, so the window is smaller.
  const isPlain = scan.others.sql === "";
  const first = isPlain ? FIRST_WINDOW : FIRST_WINDOW / 20;
  let window = first;
  return {
    skip: afterClosed,
    step(all, limit) {
      const { low, before, is_apart } = next(all);
      const rows = is_apart ? Math.min(window, BLOCK) : window;
      const { part: span } = cut({ low, before }, rows, scan.order);
      const left = rises ? { ...all, low: span.before } : { ...all, before: span.low };
      const { sql, args } = selectAll(is_apart ? apart : scan, span, { columns: COLUMNS, limit });
      return { sql, args, rest: async () => afterClosed(await skipGap(ledger, whole, left)) };
    },
    took(ms) {
      if (isPlain && ms < NOTHING_MS) window = Infinity; // a rare word
      else window = ms > QUICK_MS ? first : Math.min(MOST_WINDOW, window * 4);
    },
  };
}
