import { setImmediate as pause } from "node:timers/promises";
import { readCursor, toPage } from "../../db/cursor.ts";
import type { Ledger, Statement } from "../../db/ledger.ts";
import type { ActionList, ActionQuery } from "./schema.ts";
import { type ActionRow, PUBLIC, toRow } from "../store.ts";
import {
  indexRoad,
  lowOf,
  type Road,
  roadsOf,
  selectAll,
  selectFew,
  type Span,
  wordRoad,
} from "./roads/store.ts";
import { type Match, toMatch } from "./words.ts";

/**
 * How many rows the first statement looks at, and the most that a later one does: reads run on the
 * thread that serves everybody.
 */
const FIRST_STRIDE = 256;
const MOST_STRIDE = 2_000;

/** Several words are compared list by list: the numbers of so many actions at a time, at first. */
const FIRST_WINDOW = 100_000;
const MOST_WINDOW = 400_000;
/** A statement that was quicker than this may look at more the next time, a slower one at less. */
const QUICK_MS = 5;
/** Nothing that was read by then is worth a turn of its own. */
const NOTHING_MS = 0.5;

/** A word that is looked for in one row costs about as much as so many rows that are only read. */
const WORD_IN_ROW = 20;

const COLUMNS = PUBLIC.map((name) => `actions.${name}`).join(", ");

/** At most `limit` actions below the cursor, newest first. */
export async function listActions(
  ledger: Ledger,
  query: ActionQuery,
  limit: number,
): Promise<ActionList> {
  const span = await spanOf(ledger, query);
  const walk = await walkFor(ledger, query, { span, limit });
  const found: ActionRow[] = [];
  for (let { before } = span; walk !== null && before > span.low;) {
    const started = performance.now();
    const step = walk.step({ low: span.low, before }, limit + 1 - found.length);
    // Both at once: what changed in between could be passed over, or come twice.
    const [rows, end] = await Promise.all([ledger.all(step.sql, step.args), step.end()]);
    walk.took(performance.now() - started);
    found.push(...rows.map(toRow));
    if (found.length > limit) break;
    before = end;
    if (before > span.low) await pause();
  }
  return toPage(found, limit);
}

/** The number of the first action of that hour or a later one. */
export async function firstSince(ledger: Ledger, since: string): Promise<number> {
  const [row] = await ledger.all(
    "SELECT min(first_seq) AS seq FROM action_hours WHERE project_id = ? AND hour >= ?",
    [ledger.project_id, since.slice(0, 13)],
  );
  return Number(row?.seq ?? Number.MAX_SAFE_INTEGER);
}

/** The numbers that actions of the asked-for time can have, below the cursor. */
async function spanOf(ledger: Ledger, { cursor, from, to }: ActionQuery): Promise<Span> {
  const before = readCursor(cursor);
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
  return { low: Number(row.low), before: Math.min(before, Number(row.high) + 1) };
}

/** A way through the actions, newest first, stride by stride. */
interface Walk {
  /** Reads what is asked for of the next stride down from the end of the span. */
  step: (span: Span, limit: number) => Step;
  /** Hears how long the stride took. */
  took: (ms: number) => void;
}

interface Step extends Statement {
  /** Where the stride ends, at the beginning of the span at the latest. */
  end: () => Promise<number>;
}

/** The walk that looks at the fewest rows; none where the search has no word. */
async function walkFor(
  ledger: Ledger,
  query: ActionQuery,
  { span, limit }: { span: Span; limit: number },
): Promise<Walk | null> {
  const match = query.q === undefined ? null : toMatch(query.q);
  if (query.q !== undefined && match === null) return null;
  const filtered = roadsOf(ledger, query);
  if (match === null) {
    const roads = filtered.length > 0 ? filtered : [indexRoad(ledger, query, null)];
    const road = roads.length === 1 ? roads[0]! : (await rarest(ledger, roads, span)).road;
    return byRows(ledger, road);
  }
  const words = wordRoad(ledger, query, match);
  if (!match.isOne) return byWindows(words);
  if (filtered.length === 0) return byRows(ledger, words);
  const rare = await rarest(ledger, filtered, span);
  // No word is so frequent that a filter with as many rows could be the shorter way.
  const isFew = rare.reach > WORD_IN_ROW * FIRST_STRIDE;
  if (isFew && rare.reach > WORD_IN_ROW * await reachOf(ledger, words, span)) {
    return byRows(ledger, rare.road, { words: match });
  }
  // If word and filter have nothing to do with each other, a page of both is in so many of the word's.
  return byRows(ledger, words, { stride: 1.5 * limit * rare.reach / FIRST_STRIDE });
}

/** The road with the fewest rows, as far as its next few tell: theirs reach furthest back. */
async function rarest(ledger: Ledger, roads: Road[], span: Span) {
  const reaches = await Promise.all(roads.map((road) => reachOf(ledger, road, span)));
  const at = reaches.indexOf(Math.max(...reaches));
  return { road: roads[at]!, reach: reaches[at]! };
}

/** Over how many actions the next few rows of a road are spread. */
async function reachOf(ledger: Ledger, road: Road, span: Span): Promise<number> {
  return span.before - await lowOf(ledger, road, span, FIRST_STRIDE);
}

/** So many rows at a time, whatever lies between them. */
function byRows(
  ledger: Ledger,
  road: Road,
  { words = null, stride = FIRST_STRIDE }: { words?: Match | null; stride?: number } = {},
): Walk {
  const isPlain = road.others.sql === "" && words === null;
  let next = Math.min(MOST_STRIDE, Math.max(FIRST_STRIDE, Math.ceil(stride)));
  return {
    step(span, limit) {
      const columns = { columns: COLUMNS, limit };
      if (isPlain) {
        return {
          ...selectAll(road, span, columns),
          end: () => Promise.resolve(span.low),
        };
      }
      const rows = next;
      return {
        ...selectFew(road, span, { ...columns, words, rows }),
        end: () => lowOf(ledger, road, span, rows),
      };
    },
    took(ms) {
      next = ms > QUICK_MS ? FIRST_STRIDE : Math.min(MOST_STRIDE, next * 4);
    },
  };
}

/** So many numbers at a time, whatever there is of them. */
function byWindows(road: Road): Walk {
  // Where the rows have to be looked at too, a window may hold many of them.
  const isPlain = road.others.sql === "";
  const first = isPlain ? FIRST_WINDOW : FIRST_WINDOW / 20;
  let window = first;
  return {
    step({ low, before }, limit) {
      const span = { low: Math.max(low, before - window), before };
      const { sql, args } = selectAll(road, span, { columns: COLUMNS, limit });
      return { sql, args, end: () => Promise.resolve(span.low) };
    },
    took(ms) {
      if (isPlain && ms < NOTHING_MS) window = Infinity; // a word that hardly occurs
      else window = ms > QUICK_MS ? first : Math.min(MOST_WINDOW, window * 4);
    },
  };
}
