import type { Ledger } from "../../db/ledger.ts";
import { BLOCK, GROUP } from "../../db/ledger_migrations.ts";
import { type BlockWord, doMeet, plainWords } from "../../db/word_blocks.ts";
import type { Scan, Span } from "./scan_store.ts";

/** A span that may hold an action with all words. */
export interface OpenSpan extends Span {
  /**
   * Whether nothing is known of it, and the search then comes to actions in which the words never meet.
   * FTS5 would read on through all of those.
   */
  is_apart: boolean;
}

/**
 * The parts of a span that may hold an action with all words of the text, the oldest first. Without
 * this, a search for two frequent words that never share an action would read every action with
 * either of them.
 */
export async function openSpans(
  ledger: Ledger,
  text: string,
  { span, order }: { span: Span; order: Scan["order"] },
): Promise<OpenSpan[]> {
  const words = plainWords(text);
  if (words === null || words.length < 2) return [{ ...span, is_apart: false }];
  const open: OpenSpan[] = [];
  // From the end of the search to its begin, so that each part knows what follows it.
  let meetsLater = true;
  const parts = await notedParts(ledger, words, span);
  for (const { first, end, found } of order === "DESC" ? parts : parts.toReversed()) {
    if (isClosed(found)) {
      meetsLater = false;
      continue;
    }
    // Two frequent words that meet do so in this block.
    if (words.length === 2 && found.length === 2) meetsLater = true;
    const low = Math.max(span.low, first * BLOCK + 1);
    const before = Math.min(span.before, end * BLOCK + 1);
    open.push({ low, before, is_apart: found.length === 0 && !meetsLater });
  }
  return joined(order === "DESC" ? open : open.toReversed());
}

function joined(spans: readonly OpenSpan[]): OpenSpan[] {
  const open: OpenSpan[] = [];
  for (const span of spans) {
    const last = open.at(-1);
    if (last?.before === span.low && last.is_apart === span.is_apart) last.before = span.before;
    else open.push({ ...span });
  }
  return open;
}

/**
 * The newest part of a span, or the oldest one, and the rest, which ends with a group of blocks. A
 * search that ends in the first part reads nothing about the rest.
 */
export function partsOf(span: Span, order: Scan["order"]): Span[] {
  const [first, end] = [blockOf(span.low), blockOf(span.before - 1) + 1];
  const split = order === "DESC"
    ? Math.floor((end - FIRST_BLOCKS) / GROUP) * GROUP
    : Math.ceil((first + FIRST_BLOCKS) / GROUP) * GROUP;
  if (split <= first || split >= end) return [span];
  const at = split * BLOCK + 1;
  const parts = [{ ...span, before: at }, { ...span, low: at }];
  return order === "DESC" ? parts.reverse() : parts;
}

/** Most searches end in so many blocks. */
const FIRST_BLOCKS = 8;

function blockOf(seq: number): number {
  return Math.floor((seq - 1) / BLOCK);
}

/** The blocks from `first` up to below `end`, and the notes about them. */
interface Part {
  first: number;
  end: number;
  found: readonly BlockWord[];
}

/**
 * The blocks of a span in order: groups in which two of the words never meet, other blocks with notes,
 * and one part for all blocks between them. The numbers of actions can have a gap of any size.
 */
async function notedParts(
  ledger: Ledger,
  words: readonly string[],
  span: Span,
): Promise<Part[]> {
  const [first, end] = [blockOf(span.low), blockOf(span.before - 1) + 1];
  const range = { first: Math.ceil(first / GROUP), end: Math.floor(end / GROUP) };
  const groups = [...await readNotes(ledger, words, { ...GROUPS, ...range })]
    .filter(([, found]) => isClosed(found))
    .map(([at, found]) => ({ first: at * GROUP, end: (at + 1) * GROUP, found }));
  const noted = [...groups, ...await blocksBeside(ledger, words, { first, end }, groups)]
    .sort((a, b) => a.first - b.first);
  const parts: Part[] = [];
  for (const part of [...noted, { first: end, end, found: [] }]) {
    const from = parts.at(-1)?.end ?? first;
    if (from < part.first) parts.push({ first: from, end: part.first, found: [] });
    if (part.first < part.end) parts.push(part);
  }
  return parts;
}

/** The blocks with notes in a range that are in none of these groups. */
async function blocksBeside(
  ledger: Ledger,
  words: readonly string[],
  { first, end }: { first: number; end: number },
  groups: readonly Part[],
): Promise<Part[]> {
  const closed = new Map(groups.map((group) => [group.first, group]));
  const groupOf = (block: number) => closed.get(Math.floor(block / GROUP) * GROUP);
  const range = { first, end };
  while (range.first < end && groupOf(range.first)) range.first = groupOf(range.first)!.end;
  while (range.end > range.first && groupOf(range.end - 1)) {
    range.end = groupOf(range.end - 1)!.first;
  }
  return [...await readNotes(ledger, words, { ...BLOCKS, ...range })]
    .filter(([block]) => !groupOf(block))
    .map(([block, found]) => ({ first: block, end: block + 1, found }));
}

/** A table of frequent words, and its column with the number of a block or a group. */
interface Notes {
  table: "word_blocks" | "word_groups";
  column: "block" | "block_group";
  /** A condition of a row. */
  condition: string;
}

const BLOCKS: Notes = { table: "word_blocks", column: "block", condition: "" };
const GROUPS: Notes = {
  table: "word_groups",
  column: "block_group",
  // A changed text has removed the rows of its block.
  condition: ` AND (SELECT count(*) FROM word_blocks WHERE project_id = word_groups.project_id
    AND word = word_groups.word AND block >= block_group * ${GROUP}
    AND block < (block_group + 1) * ${GROUP}) = ${GROUP}`,
};

/** The notes about the words by number, from `first` up to below `end`. */
async function readNotes(
  ledger: Ledger,
  words: readonly string[],
  { table, column, condition, first, end }: Notes & { first: number; end: number },
): Promise<Map<number, BlockWord[]>> {
  const found = new Map<number, BlockWord[]>();
  if (first >= end) return found;
  // A row for each word, because a value of a row costs more than its text.
  const rows = await ledger.all(
    `SELECT word, group_concat(${column} || ' ' || place || ' ' || meets, ',') AS notes
      FROM ${table} WHERE project_id = ?
        AND word IN (${
      words.map(() => "?").join()
    }) AND ${column} >= ? AND ${column} < ?${condition}
      GROUP BY word`,
    [ledger.project_id, ...words, first, end],
  );
  for (const { word, notes } of rows) {
    for (const row of String(notes).split(",")) {
      const [number, place, meets] = row.split(" ") as [string, string, string];
      const one = { word: String(word), place: Number(place), meets };
      const others = found.get(Number(number));
      if (others) others.push(one);
      else found.set(Number(number), [one]);
    }
  }
  return found;
}

/** Whether two of the words are frequent there, and no action has both. */
function isClosed(found: readonly BlockWord[]): boolean {
  return found.some((one, at) => found.slice(at + 1).some((other) => !doMeet(one, other)));
}
