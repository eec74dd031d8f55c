import { beforeAll, expect, test, vi } from "vitest";
import { checkWordBlocks } from "../../../../server/audit/projections_check.ts";
import { openSpans } from "../../../../server/actions/list/open_spans_store.ts";
import { listActions } from "../../../../server/actions/list/store.ts";
import type { Ledger } from "../../../../server/db/ledger.ts";
import { BLOCK, GROUP } from "../../../../server/db/ledger_migrations.ts";
import { isMergedAfter, plainWords } from "../../../../server/db/word_blocks.ts";
import { listGroups } from "../../../../server/db/word_groups.ts";
import { createTestGate, testCaller, type TestGate } from "../../../helpers.ts";

/** Two whole blocks and the beginning of a third one. */
const ACTIONS = 2 * BLOCK + 50;
const ALL = { low: 1, before: ACTIONS + 1 };
/** Its words are not noted yet. */
const THIRD = { low: 2 * BLOCK + 1, before: ACTIONS + 1, is_apart: true };

let gate: TestGate;
let ledger: Ledger;

/**
 * One action in two has `server`, the others `ui`. `common` is everywhere, `late` from the second
 * block on, and `once` meets `ui` in one action of the first block.
 */
const PATH = `CASE WHEN n % 2 = 0 THEN 'ui' WHEN n % 6 = 3 THEN 'once/server' ELSE 'server' END
  || CASE WHEN n = 1000 THEN '/once' ELSE '' END
  || CASE WHEN n > ${BLOCK} THEN '/late' ELSE '' END || '/common/file' || n || '.ts'`;

beforeAll(async () => {
  gate = await createTestGate();
  ledger = gate.project.ledger;
  const { id } = await gate.project.sessions.open({}, testCaller());
  await ledger.commit({
    statements: [{
      sql: `INSERT INTO actions (project_id, id, seq, root, session_id, agent, tool, path, status,
          execution, decision, risk, reversible, digest, created_at, decided_by)
        WITH RECURSIVE numbers (n) AS (
          SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${ACTIONS})
        SELECT 'test', 'a' || n, n, '', ?, 'codex', 'write_file', ${PATH}, 'approved', 'none',
          '{"reason":"Allowed"}', '{"level":"low"}', 0, '', '2026-01-01T00:00:00.000Z', 'policy'
        FROM numbers`,
      args: [id],
    }],
    events: [],
  });
  await vi.waitUntil(async () => await noted() === 2 * BLOCK, { timeout: 110_000, interval: 100 });
});

async function noted(): Promise<number> {
  const [row] = await ledger.all("SELECT number FROM projected WHERE name = 'word_blocks'");
  return Number(row!.number);
}

const spansOf = (text: string, order: "DESC" | "ASC" = "DESC") =>
  openSpans(ledger, text, { span: ALL, order });

async function find(q: string, order: "newest" | "oldest" = "newest"): Promise<number[]> {
  const { items } = await listActions(ledger, { q, order } as never, 100);
  return items.map(({ seq }) => seq);
}

test("the word index is merged after a block, so a search opens few parts of it", async () => {
  await vi.waitUntil(async () => await partsOfIndex() === 1, { timeout: 60_000, interval: 50 });
  expect(await find("common file1000")).toEqual([1_000]);
  const merged = Array.from({ length: 64 }, (_, block) => block).filter(isMergedAfter);
  const within = (from: number) => merged.filter((block) => block >= from && block < 2 * from);
  expect([8, 16, 32].map((from) => within(from).length)).toEqual([8, 8, 8]);
});

/** The second number of the index's own record; each has up to seven bits and fits one byte here. */
async function partsOfIndex(): Promise<number> {
  const [row] = await ledger.all(
    "SELECT hex(block) AS record FROM actions_words_data WHERE id = 10",
  );
  const [, parts] = /^.{8}FF000001..(..)/.exec(String(row!.record))!;
  return parseInt(parts!, 16);
}

test("a search for frequent words skips the blocks in which they never share an action", async () => {
  expect(await spansOf('"server" "ui"')).toEqual([THIRD]);
  const first = { low: 1, before: BLOCK + 1, is_apart: false };
  expect(await spansOf('"once" "ui"')).toEqual([first, THIRD]);
  expect(await spansOf('"common" "late" "server"')).toEqual([{ ...ALL, is_apart: false }]);
  expect(await spansOf('"common" "server" "ui"')).toEqual([THIRD]);
  const span = { low: BLOCK - 10, before: BLOCK + 20 };
  expect(await openSpans(ledger, '"once" "ui"', { span, order: "DESC" })).toEqual([
    { low: BLOCK - 10, before: BLOCK + 1, is_apart: false },
  ]);
});

test("an unknown part stands apart only if blocks in which the words never meet come after it", async () => {
  expect(await spansOf('"server" "ui"', "ASC")).toEqual([{ ...THIRD, is_apart: false }]);
  expect(await spansOf('"common" "server"')).toEqual([{ ...ALL, is_apart: false }]);
});

test("words that are not frequent, not plain, or alone skip nothing", async () => {
  for (const text of ['"server" "file7"', '"ui" "nowhere"', '"server" "fä"', '"server"', '""']) {
    expect(await spansOf(text), text).toEqual([{ ...ALL, is_apart: false }]);
  }
});

test("each search finds the same actions as a look at every path, in both orders", async () => {
  const vocabulary = ["server", "ui", "once", "late", "common", "file1000"];
  const queries = vocabulary.flatMap((one) => vocabulary.map((other) => `${one} ${other}`)).concat(
    "once ui late",
    "UI-common",
    "server.ui",
    "ui/once/common",
  );
  for (const q of queries) {
    const words = plainWords(q)!;
    const all = await ledger.all(
      `SELECT seq, path FROM actions WHERE ${
        words.map(() => "'/' || replace(path, '.', '/') || '/' LIKE ?").join(" AND ")
      } ORDER BY seq`,
      words.map((word) => `%/${word}/%`),
    );
    const joined = /^\S+$/.test(q) ? q.toLowerCase().replace(/[^a-z]/g, "/") : "";
    const expected = all.filter(({ path }) => String(path).replace(".", "/").includes(joined))
      .map(({ seq }) => Number(seq));
    expect(await find(q, "oldest"), q).toEqual(expected.slice(0, 100));
    expect(await find(q), q).toEqual(expected.reverse().slice(0, 100));
  }
});

test("a text that changes opens its block, and the search finds it", async () => {
  expect(await find("rewritten server")).toEqual([]);
  await ledger.commit({
    statements: [{ sql: "UPDATE actions SET reason = 'rewritten ui' WHERE seq = 20001", args: [] }],
    events: [],
  });
  expect(await spansOf('"server" "ui"')).toEqual([{ ...THIRD, low: BLOCK + 1 }]);
  expect(await find("server ui")).toEqual([20_001]);
  expect(await find("rewritten server")).toEqual([20_001]);
});

test("an outcome changes no searched text, so its block stays", async () => {
  await ledger.commit({
    statements: [{ sql: "UPDATE actions SET execution = 'failed' WHERE seq = 7", args: [] }],
    events: [],
  });
  expect(await spansOf('"server" "ui"')).toEqual([{ ...THIRD, low: BLOCK + 1 }]);
});

/** To look at every number up to this one takes hours. */
const FAR = 2 ** 40;

test("a gap in the numbers of actions costs no rows and no reads, and the search stays exact", async () => {
  await ledger.commit({
    statements: [FAR, FAR + BLOCK].map((number) => ({
      sql: `INSERT INTO actions (project_id, id, number, seq, root, session_id, agent, tool, path,
          status, execution, decision, risk, reversible, digest, created_at, decided_by)
        SELECT project_id, 'far' || ?1, ?1, ?1, root, session_id, agent, tool, 'far/server/ui',
          status, execution, decision, risk, reversible, digest, created_at, decided_by
        FROM actions WHERE number = 1`,
      args: [number],
    })),
    events: [],
  });
  await vi.waitUntil(async () => await noted() === FAR + BLOCK, { timeout: 30_000, interval: 50 });
  await vi.waitUntil(async () => (await listGroups(ledger)).size > 1, { timeout: 30_000 });
  expect([...await listGroups(ledger)]).toEqual([0, FAR / BLOCK / GROUP - 1]);
  const found = [20_001, FAR, FAR + BLOCK];
  expect(await find("server ui", "oldest")).toEqual(found);
  expect(await find("server ui")).toEqual(found.toReversed());
  expect(await find("ui file1000")).toEqual([1_000]);
  expect(await find("far server nowhere")).toEqual([]);
});

test("the check of the projections recounts the words that meet", async () => {
  expect(await checkWordBlocks(ledger)).toBe(null);
  await ledger.commit({
    statements: [{ sql: "UPDATE word_blocks SET meets = '0' WHERE word = 'ui'", args: [] }],
    events: [],
  });
  expect(await checkWordBlocks(ledger)).toMatch(
    /word_blocks has a row for block 0 that is not true/,
  );
});

test.each([
  ["src/Main_File.ts", ["src", "main", "file", "ts"]],
  ["a a A — “b” … → 1", ["a", "b", "1"]],
  ["…", []],
  ["café", null],
  ["straße", null],
  ["\u212a", null], // the word index folds the sign of Kelvin to k
  ["日本", null],
])("the words of %s", (text, words) => {
  expect(plainWords(text)).toEqual(words);
});
