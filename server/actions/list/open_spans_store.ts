import type { Ledger } from "../../db/ledger.ts";
import { BLOCK } from "../../db/ledger_migrations.ts";
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
  const blocks = await readBlocks(ledger, words, span);
  const numbers = Array.from(
    { length: blockOf(span.before - 1) - blockOf(span.low) + 1 },
    (_, at) => blockOf(span.low) + at,
  );
  const open: OpenSpan[] = [];
  // From the end of the search to its begin, so that each block knows what follows it.
  let meetsLater = true;
  for (const block of order === "DESC" ? numbers : numbers.toReversed()) {
    const found = blocks.get(block) ?? [];
    if (isClosed(found)) {
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

/** The newest part of a span, or the oldest one, and the rest. Each part ends with a block. */
export function partsOf(span: Span, order: Scan["order"]): Span[] {
  const [first, last] = [blockOf(span.low), blockOf(span.before - 1)];
  if (last - first < 2 * FIRST_BLOCKS) return [span];
  const split = (order === "DESC" ? last + 1 - FIRST_BLOCKS : first + FIRST_BLOCKS) * BLOCK + 1;
  const parts = [{ ...span, before: split }, { ...span, low: split }];
  return order === "DESC" ? parts.reverse() : parts;
}

/** Most searches end in so many blocks, so they read no others. */
const FIRST_BLOCKS = 8;

function blockOf(seq: number): number {
  return Math.floor((seq - 1) / BLOCK);
}

async function readBlocks(
  ledger: Ledger,
  words: readonly string[],
  { low, before }: Span,
): Promise<Map<number, BlockWord[]>> {
  // A row for each word, because a value of a row costs more than its text.
  const rows = await ledger.all(
    `SELECT word, group_concat(block || ' ' || place || ' ' || meets, ',') AS blocks
      FROM word_blocks WHERE project_id = ?
        AND word IN (${words.map(() => "?").join()}) AND block >= ? AND block <= ? GROUP BY word`,
    [ledger.project_id, ...words, blockOf(low), blockOf(before - 1)],
  );
  const found = new Map<number, BlockWord[]>();
  for (const { word, blocks } of rows) {
    for (const row of String(blocks).split(",")) {
      const [block, place, meets] = row.split(" ") as [string, string, string];
      const one = { word: String(word), place: Number(place), meets };
      const others = found.get(Number(block));
      if (others) others.push(one);
      else found.set(Number(block), [one]);
    }
  }
  return found;
}

/** Whether two of the words are frequent in the block, and no action has both. */
function isClosed(found: readonly BlockWord[]): boolean {
  return found.some((one, at) => found.slice(at + 1).some((other) => !doMeet(one, other)));
}
