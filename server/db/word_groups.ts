import { setImmediate as pause } from "node:timers/promises";
import { BLOCK, GROUP } from "./ledger_migrations.ts";
import {
  type BlockSource,
  type BlockWord,
  doMeet,
  insertWords,
  nextNumber,
  stateOf,
  type WordSource,
} from "./word_blocks.ts";

/** A row that every noted group has; no action has the empty word. */
export const NOTED: BlockWord = { word: "", place: 0, meets: "" };

/**
 * Notes for the oldest group of noted blocks that was not noted yet which words that are frequent in
 * each block share an action in any. Returns whether there may be another group.
 */
export async function noteNextGroup(source: WordSource): Promise<boolean> {
  const { project_id } = source;
  const { done, changes } = await stateOf(source);
  const next = (await lastGroup(source) + 1) * GROUP * BLOCK;
  // A group without actions needs no rows.
  const group = Math.floor((await nextNumber(source, next) - 1) / BLOCK / GROUP);
  if (done < (group + 1) * GROUP * BLOCK) return false;
  const words = await wordsOfGroup(source, group);
  await source.exclusive(async (write) => {
    // A text that changed meanwhile has removed the rows of its block: the group is read again.
    if ((await stateOf(source)).changes !== changes) return;
    const wanted = { project_id, at: group, words: [NOTED, ...words] };
    await write([insertWords("word_groups", wanted)]);
  });
  return true;
}

/** The groups that are noted. */
export async function listGroups(source: BlockSource): Promise<Set<number>> {
  const sql = "SELECT block_group FROM word_groups WHERE project_id = ? AND word = ?";
  const rows = await source.all(sql, [source.project_id, NOTED.word]);
  return new Set(rows.map(({ block_group }) => Number(block_group)));
}

/** The last group that is noted; -1 if none is. */
async function lastGroup({ all, project_id }: BlockSource): Promise<number> {
  const sql = "SELECT max(block_group) AS last FROM word_groups WHERE project_id = ? AND word = ?";
  const [row] = await all(sql, [project_id, NOTED.word]);
  return Number(row!.last ?? -1);
}

/** The words that are frequent in each block of a group; none if a block has no rows. */
export async function wordsOfGroup(source: BlockSource, group: number): Promise<BlockWord[]> {
  let found: { word: string; met: Uint8Array }[] | null = null;
  for (let block = group * GROUP; block < (group + 1) * GROUP; block++) {
    const noted = await wordsNoted(source, block);
    found ??= [...noted.keys()].map((word) => ({ word, met: new Uint8Array(noted.size) }));
    const words: (BlockWord | undefined)[] = found.map(({ word }) => noted.get(word));
    for (const [at, word] of words.entries()) {
      if (!word) continue;
      for (const [other, one] of words.entries()) {
        if (one && doMeet(word, one)) found[at]!.met[other] = 1;
      }
    }
    const isLeft = words.map((word) => word !== undefined);
    found = found.filter((_, at) => isLeft[at])
      .map(({ word, met }) => ({ word, met: met.filter((_, at) => isLeft[at]) }));
    await pause();
  }
  return found!.map(({ word, met }, place) => ({ word, place, meets: digitsOf(met) }));
}

async function wordsNoted(
  source: BlockSource,
  block: number,
): Promise<Map<string, BlockWord>> {
  const rows = await source.all(
    "SELECT word, place, meets FROM word_blocks WHERE project_id = ? AND block = ? ORDER BY place",
    [source.project_id, block],
  );
  return new Map(rows.map(({ word, place, meets }) => {
    const one = { word: String(word), place: Number(place), meets: String(meets) };
    return [one.word, one];
  }));
}

/** Hexadecimal digits of four bits, the first bit the lowest. */
function digitsOf(bits: Uint8Array): string {
  const digits = Array.from({ length: Math.ceil(bits.length / 4) }, (_, at) => {
    const [one = 0, two = 0, three = 0, four = 0] = bits.subarray(4 * at, 4 * at + 4);
    return (one | two << 1 | three << 2 | four << 3).toString(16);
  });
  return digits.join("");
}
