import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { listActions } from "../../../server/actions/list/store.ts";
import type { ActionQuery } from "../../../server/actions/list/schema.ts";
import { listDecisions } from "../../../server/analytics/attention_store.ts";
import { listSubmitted } from "../../../server/analytics/step_store.ts";
import { findUnlisted, LISTINGS, recountSession } from "../../../server/audit/projections_store.ts";
import { hasLease, listLeases } from "../../../server/actions/review/lease_store.ts";
import { listDone } from "../../../server/actions/rollback/done_store.ts";
import { findEarlier } from "../../../server/actions/store.ts";
import { listSpending } from "../../../server/actions/submit/budgets_store.ts";
import { listDeeds } from "../../../server/remediation/store.ts";
import { listActionStates, summarizeActions } from "../../../server/sessions/store.ts";
import { Database } from "../../../server/db/database.ts";
import type { Ledger, Row, Value } from "../../../server/db/ledger.ts";
import { stateOf, wordsOfBlock } from "../../../server/db/word_blocks.ts";
import { endOf, listAsked, listPast, listRecorded } from "../../../server/trials/store.ts";
import { openGate } from "../actions/harness.ts";

const SINCE = "2026-01-01T00:00:00.000Z";
const SPAN = { from: 1, before: 9, limit: 5 };
const BOUNDS = { from: SINCE, to: null };

/** Reads that follow the actions in the order of their numbers. */
const READS: Record<string, (ledger: Ledger, session_id: string) => Promise<unknown>> = {
  "recorded actions": (ledger) => listRecorded(ledger, SPAN),
  "asked actions": (ledger) => listAsked(ledger, SPAN),
  "past files": (ledger) => listPast(ledger, { ...SPAN, tool: "t", access: "write", since: SINCE }),
  "past calls": (ledger) => listPast(ledger, { ...SPAN, tool: "t", access: null, since: SINCE }),
  "the end": (ledger) => endOf(ledger),
  "decisions of people": (ledger) => listDecisions(ledger, SINCE, { before: 9, limit: 5 }),
  "submitted in a range": (ledger) => listSubmitted(ledger, BOUNDS, { first: 1, last: 9 }),
  "the actions of a session": (ledger) => summarizeActions(ledger, "s"),
  "their states": (ledger) => listActionStates(ledger, "s"),
  "whether a session has a plan": (ledger) => hasLease(ledger, "s"),
  "the plans of a session": (ledger) => listLeases(ledger, "s"),
  "what a session has spent": (ledger) => listSpending(ledger, "s", { before: 9, limit: 5 }),
  "the deeds of a session": (ledger) => listDeeds(ledger, "s", { before: 9, limit: 5 }),
  "the executed actions of a session": (ledger) => listDone(ledger, "s", 5),
  "an earlier run": (ledger) => findEarlier(ledger, { session_id: "s", command: "ls", seq: 9 }),
  "the recounted session": (ledger, session_id) => recountSession(ledger, session_id),
  "the newest block of words": (ledger) => stateOf(ledger),
  "the words of a block": (ledger) => wordsOfBlock(ledger, 0),
  ...Object.fromEntries(
    LISTINGS.map((one) => [
      `what ${one.index} lacks`,
      (ledger) => findUnlisted(ledger, one, { after: 0, last: 9 }),
    ]),
  ),
  ...Object.fromEntries(
    ([
      {},
      { order: "oldest" },
      { from: SINCE },
      { to: "2027-01-01T00:00:00.000Z" },
      { status: "approved" },
      { status: "pending" },
      { execution: "succeeded" },
      { risk: "low" },
      { risk: "high" },
      { decided_by: "policy" },
      { outcome: "allowed", hour: 3 },
      { tool: "write_file" },
      { agent: "codex", status: "approved" },
      { session_id: "s" },
      { path: "a.txt" },
      { q: "txt" },
      { q: "txt allowed" },
      { q: "txt", agent: "codex" },
    ] as ActionQuery[]).map((query) => [
      `a list with ${JSON.stringify(query)}`,
      (ledger) => listActions(ledger, query, 5),
    ]),
  ),
};

test("no read of actions in their order scans them all, or sorts them", async () => {
  const { gate, write } = await openGate({});
  const { session_id } = await write("a.txt", "x");
  const { ledger } = gate.project;
  await ledger.catchUp();
  const database = await Database.open(join(gate.home, "projects", "test", "ledger.db"));
  onTestFinished(() => database.close());
  for (const [name, read] of Object.entries(READS)) {
    const plans: string[] = [];
    const all = async (sql: string, args: Value[] = []): Promise<Row[]> => {
      const plan = await database.all(`EXPLAIN QUERY PLAN ${sql}`, args);
      plans.push(plan.map(({ detail }) => detail).join("\n"));
      return await database.all(sql, args);
    };
    const spied: Pick<Ledger, "project_id" | "all" | "caughtUp"> = {
      project_id: ledger.project_id,
      all,
      caughtUp: (_, run) => run(),
    };
    await read(spied as Ledger, session_id);
    const plan = plans.join("\n");
    expect(plan, name).toMatch(/SEARCH (?:actions|audit|listed)/);
    expect(plan, name).not.toMatch(/SCAN (?:actions|audit)\b/);
    expect(plan, name).not.toContain("TEMP B-TREE FOR ORDER BY");
  }
});
