import { setImmediate } from "node:timers/promises";
import type { Ledger } from "../db/ledger.ts";
import { stateOf, wordsOfBlock } from "../db/word_blocks.ts";
import { listGroups, wordsOfGroup } from "../db/word_groups.ts";
import type { Problem } from "../evidence/check.ts";
import {
  type Counts,
  type Entry,
  findUnlisted,
  listBlock,
  listBlocks,
  listCounted,
  listEntries,
  listGroup,
  listHourCounts,
  type Listing,
  LISTINGS,
  listSessionCounts,
  recountHour,
  recountSession,
  rowOf,
} from "./projections_store.ts";

/** So few that a page holds the event loop for a few milliseconds. */
const PAGE = 200;

/**
 * The first projection that differs from a recount of the actions and events: counts of sessions and
 * hours, searched words, the lists by agent, tool, path, time and session, and the words that meet in
 * a block or a group of blocks. Counts that change during the check are counted again, in one
 * statement.
 */
export async function checkProjections(ledger: Ledger): Promise<Problem | null> {
  await ledger.catchUp();
  const what = await checkCounts(ledger) ?? await checkListings(ledger) ??
    await checkWordBlocks(ledger) ?? await checkWordGroups(ledger);
  return what === null ? null : { seq: null, what };
}

async function checkCounts(ledger: Ledger): Promise<string | null> {
  const sessions = new Map<string, Counts>();
  const hours = new Map<string, Counts>();
  for (let after = 0, size = PAGE; size === PAGE;) {
    const page = await listCounted(ledger, after, PAGE);
    for (const { seq, session_id, hour, session, has_words } of page) {
      if (!has_words) return `the search lacks action ${seq}`;
      sessions.set(session_id, sumOf(sessions.get(session_id), session));
      const { n, first_seq, last_seq } = hours.get(hour) ?? { n: 0, first_seq: seq, last_seq: seq };
      hours.set(hour, {
        n: n! + 1,
        first_seq: Math.min(first_seq!, seq),
        last_seq: Math.max(last_seq!, seq),
      });
    }
    size = page.length;
    after = page.at(-1)?.number ?? after;
    await setImmediate();
  }
  return await checkSessions(ledger, sessions) ?? await checkHours(ledger, hours);
}

function sumOf(sums: Counts | undefined, more: Counts): Counts {
  if (sums === undefined) return more;
  return Object.fromEntries(Object.entries(more).map(([name, n]) => [name, n + sums[name]!]));
}

async function checkSessions(
  ledger: Ledger,
  found: ReadonlyMap<string, Counts>,
): Promise<string | null> {
  for (let after = 0, size = PAGE; size === PAGE;) {
    const page = await listSessionCounts(ledger, after, PAGE);
    for (const { id, counts } of page) {
      const sums = found.get(id);
      if (sums ? isSame(counts, sums) : Object.values(counts).every((n) => n === 0)) continue;
      const again = await recountSession(ledger, id);
      const what = differenceOf(`session "${id}"`, again.counts, again.recount);
      if (what !== null) return what;
    }
    size = page.length;
    after = page.at(-1)?.seq ?? after;
    await setImmediate();
  }
  return null;
}

async function checkHours(
  ledger: Ledger,
  found: ReadonlyMap<string, Counts>,
): Promise<string | null> {
  const counted = new Map((await listHourCounts(ledger)).map(({ hour, counts }) => [hour, counts]));
  for (const hour of new Set([...found.keys(), ...counted.keys()])) {
    const [counts, sums] = [counted.get(hour), found.get(hour)];
    if (counts && sums && isSame(counts, sums)) continue;
    const again = await recountHour(ledger, hour);
    const none = { n: 0, first_seq: 0, last_seq: 0 };
    const what = differenceOf(`the hour ${hour}`, again.counts ?? none, again.recount);
    if (what !== null) return what;
  }
  return null;
}

function isSame(counts: Counts, recount: Counts): boolean {
  return Object.entries(recount).every(([name, n]) => counts[name] === n);
}

function differenceOf(what: string, counts: Counts, recount: Counts): string | null {
  const name = Object.keys(recount).find((name) => counts[name] !== recount[name]);
  if (name === undefined) return null;
  return `${what} has the ${name} ${counts[name]}, but a recount gives ${recount[name]}`;
}

async function checkListings(ledger: Ledger): Promise<string | null> {
  for (const listing of LISTINGS) {
    const what = await checkMissing(ledger, listing) ?? await checkEntries(ledger, listing);
    if (what !== null) return what;
  }
  return null;
}

async function checkMissing(ledger: Ledger, listing: Listing): Promise<string | null> {
  // No action has a higher number than the events.
  for (let after = 0; after < ledger.head.seq; after += PAGE) {
    const seq = await findUnlisted(ledger, listing, { after, last: after + PAGE });
    if (seq !== null) return `${listing.index} lacks number ${seq}`;
    await setImmediate();
  }
  return null;
}

async function checkEntries(ledger: Ledger, listing: Listing): Promise<string | null> {
  let last: Entry | null = null;
  for (let size = PAGE; size === PAGE;) {
    const page: Entry[] = await listEntries(ledger, listing, last, PAGE);
    const wrong = page.find(({ is_true }) => !is_true);
    if (wrong) return `${listing.index} has an entry for number ${wrong.seq} that is not true`;
    size = page.length;
    last = page.at(-1) ?? last;
    await setImmediate();
  }
  return null;
}

/** The first row of `word_blocks` that differs from a recount. */
export async function checkWordBlocks(ledger: Ledger): Promise<string | null> {
  for (const block of await listBlocks(ledger)) {
    const before = await stateOf(ledger);
    const noted = await listBlock(ledger, block);
    const words = (await wordsOfBlock(ledger, block)).map(rowOf);
    // A text that changed meanwhile has removed the rows of its block.
    if ((await stateOf(ledger)).changes !== before.changes) continue;
    const wrong = noted.find((row) => !words.includes(row));
    if (wrong) return `word_blocks has a row for block ${block} that is not true: ${wrong}`;
  }
  return null;
}

/** The first row of `word_groups` that differs from the rows of its blocks. */
export async function checkWordGroups(ledger: Ledger): Promise<string | null> {
  for (const group of await listGroups(ledger)) {
    const before = await stateOf(ledger);
    const noted = await listGroup(ledger, group);
    const words = (await wordsOfGroup(ledger, group)).map(rowOf);
    const isChanged = (await stateOf(ledger)).changes !== before.changes;
    // The rows of a group do not count once a block has lost its own.
    if (isChanged || words.length === 0) continue;
    const wrong = noted.find((row) => !words.includes(row));
    if (wrong) return `word_groups has a row for group ${group} that is not true: ${wrong}`;
  }
  return null;
}
