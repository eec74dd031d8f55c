import { setImmediate as pause } from "node:timers/promises";
import type { Write } from "./database.ts";
import type { Row, Statement, Value } from "./ledger.ts";
import { BLOCK, doneBy, SEARCHED } from "./ledger_migrations.ts";
import { isUtf8, textOf } from "./texts.ts";

/** The parts of a ledger that this table is filled from. */
export interface BlockSource {
  project_id: string;
  all: (sql: string, args?: Value[]) => Promise<Row[]>;
}

/** A word that many actions of a block have. */
export interface BlockWord {
  word: string;
  /** Its number among the frequent words of the block. */
  place: number;
  /** One bit for each of them, as hexadecimal digits: whether an action has both words. */
  meets: string;
}

/** A word in fewer actions of a block is found quickly without this table. */
const FREQUENT = BLOCK / 256;
const MOST_WORDS = 512;
/** Actions of one statement, or between two pauses. */
const PAGE = 250;

/** Written pages of the word index in one step of a merge: a few milliseconds. */
const MERGE_PAGES = 16;
/** A step that changes fewer rows has found nothing to merge. */
const MERGED = 2;

/** A ledger whose words are noted and merged. */
export type WordSource = BlockSource & {
  exclusive: <T>(task: (write: Write) => Promise<T>) => Promise<T>;
};

/**
 * Notes for the oldest complete block that was not noted yet which frequent words share an action.
 * A search for words that never do skips the block. Returns whether there may be another block.
 */
export async function noteNextBlock(source: WordSource): Promise<boolean> {
  const { project_id } = source;
  const { done, changes, last } = await stateOf(source);
  if (last < done + BLOCK) return false;
  // Another program can write a number far ahead. A block without actions needs no rows.
  const block = Math.floor((await nextNumber(source, done) - 1) / BLOCK);
  const end = (block + 1) * BLOCK;
  if (last < end) return false;
  const words = await wordsOfBlock(source, block);
  await source.exclusive(async (write) => {
    // A text that changed meanwhile may have been read before: the block is read again.
    if ((await stateOf(source)).changes !== changes) return;
    await write([insertWords("word_blocks", { project_id, at: block, words }), {
      sql: "UPDATE projected SET number = ? WHERE name = 'word_blocks'",
      args: [end],
    }]);
  });
  if (isMergedAfter(block)) await mergeWords(source);
  return true;
}

/** Eight merges while a ledger doubles, so that their cost for an action stays the same. */
export function isMergedAfter(block: number): boolean {
  const blocks = block + 1;
  return blocks % 2 ** Math.max(0, Math.floor(Math.log2(blocks)) - 3) === 0;
}

/**
 * Merges the parts of the word index to one. A search opens each part for each word, and the index
 * itself leaves more of them the more actions it has.
 */
async function mergeWords({ exclusive }: WordSource): Promise<void> {
  const changes = { sql: "SELECT total_changes() AS changes", args: [] };
  for (let merged = MERGED; merged >= MERGED;) {
    merged = await exclusive(async (write) => {
      const [[before], , [after]] = await write([changes, {
        // A negative number also merges parts of different sizes.
        sql: "INSERT INTO actions_words (actions_words, rank) VALUES ('merge', ?)",
        args: [-MERGE_PAGES],
      }, changes]) as [Row[], Row[], Row[]];
      return Number(after!.changes) - Number(before!.changes);
    });
    await pause();
  }
}

/** The number of the next action after this number; infinite if there is none. */
export async function nextNumber(source: BlockSource, after: number): Promise<number> {
  const [row] = await source.all(
    "SELECT min(number) AS next FROM actions NOT INDEXED WHERE project_id = ? AND number > ?",
    [source.project_id, after],
  );
  return Number(row!.next ?? Infinity);
}

/** The last action of a noted block and of all, and how often searched texts have changed. */
export async function stateOf(
  source: BlockSource,
): Promise<{ done: number; changes: number; last: number }> {
  const [row] = await source.all(
    `SELECT ${doneBy("word_blocks")} AS done, ${doneBy("word_changes")} AS changes,
      (SELECT max(number) FROM actions) AS last`,
  );
  return { done: Number(row!.done), changes: Number(row!.changes), last: Number(row!.last ?? 0) };
}

/** The column with the number of a block, or of a group of blocks. */
const NUMBERS = { word_blocks: "block", word_groups: "block_group" } as const;

/** Inserts the frequent words of the block or group with the number `at`. */
export function insertWords(
  table: keyof typeof NUMBERS,
  { project_id, at, words }: { project_id: string; at: number; words: readonly BlockWord[] },
): Statement {
  return {
    sql: `INSERT INTO ${table} (project_id, word, ${NUMBERS[table]}, place, meets)
      SELECT ?, value ->> 'word', ?, value ->> 'place', value ->> 'meets' FROM json_each(?)
      WHERE true ON CONFLICT DO NOTHING`,
    args: [project_id, at, JSON.stringify(words)],
  };
}

/** The frequent words of a block; none if the words of an action are not certain. */
export async function wordsOfBlock(source: BlockSource, block: number): Promise<BlockWord[]> {
  const known = new Map<string, { count: number; place: number }>();
  const actions: { count: number; place: number }[][] = [];
  for (let from = block * BLOCK; from < (block + 1) * BLOCK; from += PAGE) {
    const until = Math.min(from + PAGE, (block + 1) * BLOCK);
    for (const text of await textsOf(source, from, until)) {
      const words = text === null ? null : plainWords(text);
      if (words === null) return [];
      actions.push(words.map((word) => {
        const entry = known.get(word) ?? { count: 0, place: -1 };
        if (entry.count === 0) known.set(word, entry);
        entry.count++;
        return entry;
      }));
    }
    await pause();
  }
  const frequent = [...known].filter(([, { count }]) => count >= FREQUENT)
    .sort(([, a], [, b]) => b.count - a.count).slice(0, MOST_WORDS);
  for (const [place, [, entry]] of frequent.entries()) entry.place = place;
  const meets = await meetingsOf(actions, frequent.length);
  return frequent.map(([word], place) => ({ word, place, meets: meets[place]! }));
}

/** The words of each place that share an action with it, as hexadecimal digits of four bits. */
async function meetingsOf(
  actions: readonly { place: number }[][],
  places: number,
): Promise<string[]> {
  const met = Array.from({ length: places }, () => new Uint8Array(Math.ceil(places / 4)));
  for (const [at, words] of actions.entries()) {
    const here = words.filter(({ place }) => place >= 0);
    for (const { place } of here) {
      for (const other of here) met[place]![other.place >> 2]! |= 1 << (other.place & 3);
    }
    if (at % PAGE === PAGE - 1) await pause();
  }
  return met.map((digits) => Array.from(digits, (digit) => digit.toString(16)).join(""));
}

/** The searched texts of the actions after `from`, up to `until`; null for one that is not UTF-8. */
async function textsOf(
  source: BlockSource,
  from: number,
  until: number,
): Promise<(string | null)[]> {
  const rows = await source.all(
    `SELECT CAST(${SEARCHED} AS BLOB) AS texts FROM actions NOT INDEXED
      WHERE project_id = ? AND number > ? AND number <= ? ORDER BY number`,
    [source.project_id, from, until],
  );
  return rows.map(({ texts }) => isUtf8(texts!) ? textOf(texts) : null);
}

/** Letters and digits of ASCII, and signs that separate words for the word index too. */
// deno-lint-ignore no-control-regex
const PLAIN = /^[\x00-\x7f\u00b7\u2010-\u2027\u2190-\u21ff]*$/;

/**
 * The different words of a text, as the word index has them; null where it folds other letters by
 * rules of its own.
 */
export function plainWords(text: string): string[] | null {
  if (!PLAIN.test(text)) return null;
  return [...new Set(text.toLowerCase().match(/[0-9a-z]+/g))];
}

/** Whether an action of the block has both words. */
export function doMeet({ meets }: BlockWord, { place }: BlockWord): boolean {
  return (parseInt(meets[place >> 2] ?? "0", 16) >> (place & 3) & 1) === 1;
}
