import type { Ledger } from "../../db/ledger.ts";
import { BLOCK } from "../../db/ledger_migrations.ts";
import { type BlockWord, doMeet, plainWords } from "../../db/word_blocks.ts";
import type { Span } from "./scan_store.ts";

/**
 * The parts of a span that may hold an action with all words of the text, the oldest first. Without
 * this, a search for two frequent words that never share an action would read every action with
 * either of them.
 */
export async function openSpans(ledger: Ledger, text: string, span: Span): Promise<Span[]> {
  const words = plainWords(text);
  if (words === null || words.length < 2) return [span];
  const blocks = await readBlocks(ledger, words, span);
  const open: Span[] = [];
  for (let block = blockOf(span.low); block <= blockOf(span.before - 1); block++) {
    if (isClosed(blocks.get(block) ?? [])) continue;
    const low = Math.max(span.low, block * BLOCK + 1);
    const before = Math.min(span.before, (block + 1) * BLOCK + 1);
    const last = open.at(-1);
    if (last?.before === low) last.before = before;
    else open.push({ low, before });
  }
  return open;
}

function blockOf(seq: number): number {
  return Math.floor((seq - 1) / BLOCK);
}

async function readBlocks(
  ledger: Ledger,
  words: readonly string[],
  { low, before }: Span,
): Promise<Map<number, BlockWord[]>> {
  const rows = await ledger.all(
    `SELECT block, word, place, meets FROM word_blocks WHERE project_id = ?
      AND word IN (${words.map(() => "?").join()}) AND block >= ? AND block <= ?`,
    [ledger.project_id, ...words, blockOf(low), blockOf(before - 1)],
  );
  const blocks = new Map<number, BlockWord[]>();
  for (const { block, word, place, meets } of rows) {
    const one = { word: String(word), place: Number(place), meets: String(meets) };
    blocks.set(Number(block), [...blocks.get(Number(block)) ?? [], one]);
  }
  return blocks;
}

/** Whether two of the words are frequent in the block, and no action has both. */
function isClosed(found: readonly BlockWord[]): boolean {
  return found.some((one, at) => found.slice(at + 1).some((other) => !doMeet(one, other)));
}
