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
  const numbers = Array.from(
    { length: blockOf(span.before - 1) - blockOf(span.low) + 1 },
    (_, at) => blockOf(span.low) + at,
  );
  const closed = await closedGroups(ledger, words, numbers);
  const isInClosed = (block: number) => closed.has(Math.floor(block / GROUP));
  const unknown = numbers.filter((block) => !isInClosed(block));
  const blocks = await readNotes(ledger, words, { ...BLOCKS, numbers: unknown });
  const open: OpenSpan[] = [];
  // From the end of the search to its begin, so that each block knows what follows it.
  let meetsLater = true;
  for (const block of order === "DESC" ? numbers : numbers.toReversed()) {
    const found = blocks.get(block) ?? [];
    if (isInClosed(block) || isClosed(found)) {
      meetsLater = false;
      continue;
    }
    // Two frequent words that meet do so in this block.
    if (words.length === 2 && found.length === 2) meetsLater = true;
    const low = Math.max(span.low, block * BLOCK + 1);
    const before = Math.min(span.before, (block + 1) * BLOCK + 1);
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

/** The groups of these blocks, all of each, in which two of the words never meet. */
async function closedGroups(
  ledger: Ledger,
  words: readonly string[],
  blocks: readonly number[],
): Promise<Set<number>> {
  const [first, last] = [blocks[0]!, blocks.at(-1)!];
  const numbers: number[] = [];
  for (let at = Math.ceil(first / GROUP); (at + 1) * GROUP <= last + 1; at++) numbers.push(at);
  const found = await readNotes(ledger, words, { ...GROUPS, numbers });
  return new Set(numbers.filter((group) => isClosed(found.get(group) ?? [])));
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

/** The notes about the words by number, in rising order. */
async function readNotes(
  ledger: Ledger,
  words: readonly string[],
  { table, column, condition, numbers }: Notes & { numbers: readonly number[] },
): Promise<Map<number, BlockWord[]>> {
  const found = new Map<number, BlockWord[]>();
  if (numbers.length === 0) return found;
  // A row for each word, because a value of a row costs more than its text.
  const rows = await ledger.all(
    `SELECT word, group_concat(${column} || ' ' || place || ' ' || meets, ',') AS notes
      FROM ${table} WHERE project_id = ?
        AND word IN (${
      words.map(() => "?").join()
    }) AND ${column} >= ? AND ${column} <= ?${condition}
      GROUP BY word`,
    [ledger.project_id, ...words, numbers[0]!, numbers.at(-1)!],
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
