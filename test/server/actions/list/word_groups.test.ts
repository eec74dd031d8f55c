import { expect, test, vi } from "vitest";
import { openSpans, partsOf } from "../../../../server/actions/list/open_spans_store.ts";
import { checkWordGroups } from "../../../../server/audit/projections_check.ts";
import type { Ledger } from "../../../../server/db/ledger.ts";
import { BLOCK, GROUP } from "../../../../server/db/ledger_migrations.ts";
import { listGroups } from "../../../../server/db/word_groups.ts";
import { createTestGate, testCaller } from "../../../helpers.ts";

/** Two groups of blocks, and one block more. */
const BLOCKS = 2 * GROUP + 1;
const ALL = { low: 1, before: BLOCKS * BLOCK + 1 };

/** The frequent words of a block: each meets itself, and `meets` lists pairs that share an action. */
function wordsOf(words: readonly string[], meets: readonly string[]) {
  return words.map((word, place) => {
    const bits = words.map((other) =>
      word === other || meets.includes([word, other].join()) ||
      meets.includes([other, word].join())
    );
    const digit = bits.reduce((sum, bit, at) => sum | Number(bit) << at, 0);
    return { word, place, meets: digit.toString(16) };
  });
}

/**
 * `server` and `ui` meet nowhere, `server` and `once` in block 3 only. `late` is not frequent before
 * block 20, and in each block the words have other places.
 */
async function stage(): Promise<Ledger> {
  const { project } = await createTestGate();
  const { ledger } = project;
  const { id } = await project.sessions.open({}, testCaller());
  const blocks = Array.from({ length: BLOCKS }, (_, block) => {
    const words = ["server", "ui", "once", ...block < 20 ? [] : ["late"]];
    const turned = [...words.slice(block % words.length), ...words.slice(0, block % words.length)];
    return { block, words: wordsOf(turned, block === 3 ? ["server,once"] : []) };
  });
  await ledger.commit({
    statements: [{
      sql: `INSERT INTO word_blocks SELECT 'test', word.value ->> 'word', blocks.value ->> 'block',
          word.value ->> 'place', word.value ->> 'meets'
        FROM json_each(?) AS blocks, json_each(blocks.value, '$.words') AS word`,
      args: [JSON.stringify(blocks)],
    }, {
      sql: `INSERT INTO actions (project_id, id, number, seq, root, session_id, agent, tool, path,
          status, execution, decision, risk, reversible, digest, created_at, decided_by)
        SELECT 'test', 'a' || value, value, value, '', ?, 'codex', 'write_file', 'ui', 'approved', 'none',
          '{"reason":"Allowed"}', '{"level":"low"}', 0, '', '2026-01-01T00:00:00.000Z', 'policy'
        FROM json_each(?)`,
      args: [id, JSON.stringify([5 * BLOCK + 1, 20 * BLOCK, BLOCKS * BLOCK])],
    }, {
      sql: "UPDATE projected SET number = ? WHERE name = 'word_blocks'",
      args: [BLOCKS * BLOCK],
    }],
    events: [],
  });
  await vi.waitUntil(async () => (await listGroups(ledger)).size === 2, { timeout: 60_000 });
  return ledger;
}

const read = (ledger: Ledger, text: string, order: "DESC" | "ASC" = "DESC") =>
  openSpans(ledger, text, { span: ALL, order });
/** The span of some blocks, the last one included. */
const blocks = (first: number, last: number) => ({
  low: first * BLOCK + 1,
  before: (last + 1) * BLOCK + 1,
  is_apart: false,
});

test("a group tells which words that are frequent in all of its blocks meet in none", async () => {
  const ledger = await stage();
  const rows = await ledger.all(
    "SELECT block_group, word FROM word_groups WHERE word <> '' ORDER BY block_group, word",
  );
  expect(rows.map(({ block_group, word }) => `${block_group} ${word}`)).toEqual([
    ...["0 once", "0 server", "0 ui", "1 once", "1 server", "1 ui"],
  ]);
  expect(await read(ledger, '"server" "ui"')).toEqual([]);
  expect(await read(ledger, '"ui" "once"', "ASC")).toEqual([]);
  // Other notes of the blocks would say something else, so the groups are read alone.
  await ledger.commit({
    statements: [{
      sql: "UPDATE word_blocks SET place = 0, meets = 'f' WHERE block < ?",
      args: [2 * GROUP],
    }],
    events: [],
  });
  expect(await read(ledger, '"server" "ui"')).toEqual([]);
  expect(await read(ledger, '"server" "once"')).toEqual([blocks(0, 15)]);
});

test("where words of a group meet, its blocks tell where", async () => {
  const ledger = await stage();
  expect(await read(ledger, '"server" "once"')).toEqual([blocks(3, 3)]);
  expect(await read(ledger, '"late" "ui"')).toEqual([blocks(0, 19)]);
});

test("a text that changes opens its block, and its group no longer counts", async () => {
  const ledger = await stage();
  await ledger.commit({
    statements: [{ sql: "UPDATE actions SET path = 'server/ui' WHERE id = 'a81921'", args: [] }],
    events: [],
  });
  expect(await read(ledger, '"server" "ui"')).toEqual([{ ...blocks(5, 5), is_apart: true }]);
  expect(await read(ledger, '"server" "ui"', "ASC")).toEqual([
    { ...blocks(5, 5), is_apart: true },
  ]);
  expect(await checkWordGroups(ledger)).toBe(null);
});

test("the check of the projections compares a group with its blocks", async () => {
  const ledger = await stage();
  expect(await checkWordGroups(ledger)).toBe(null);
  await ledger.commit({
    statements: [{ sql: "UPDATE word_groups SET meets = '0' WHERE word = 'ui'", args: [] }],
    events: [],
  });
  expect(await checkWordGroups(ledger)).toMatch(
    /word_groups has a row for group 0 that is not true/,
  );
});

test("a long span is read in two parts, and the second one has whole groups", () => {
  const span = { low: 5, before: 40 * BLOCK };
  const newest = 2 * GROUP * BLOCK + 1;
  expect(partsOf(span, "DESC")).toEqual([{ ...span, low: newest }, { ...span, before: newest }]);
  const oldest = GROUP * BLOCK + 1;
  expect(partsOf(span, "ASC")).toEqual([{ ...span, before: oldest }, { ...span, low: oldest }]);
  expect(partsOf({ low: 1, before: 7 * BLOCK }, "DESC")).toEqual([{ low: 1, before: 7 * BLOCK }]);
});
