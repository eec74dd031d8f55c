import { setTimeout } from "node:timers/promises";
import { z } from "zod";
import type { LedgerDatabase } from "./database.ts";
import type { PassedAnswer, Statement } from "./ledger.ts";
import { jsonText } from "./texts.ts";

/** The table of requests that one machine passes to another. A move does not copy it. */
export const PASSED = "passed_requests";

export const CREATE_PASSED: Statement = {
  sql: `CREATE TABLE IF NOT EXISTS ${PASSED} (
    id TEXT PRIMARY KEY,
    machine TEXT NOT NULL,
    request TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('asked', 'taken', 'answered')),
    answer TEXT,
    asked_at INTEGER NOT NULL
  ) STRICT`,
  args: [],
};

/** The pause between two looks for the answer. */
const LOOK_MS = 200;

/** A request that the other machine has not taken within this time is withdrawn. */
const TAKE_MS = 10_000;

/** The longest time from then until the answer. */
const ANSWER_MS = 60_000;

/** A request that a crash left behind is deleted after this time. */
const STALE_S = 3_600;

/** The most requests that are taken at once. */
const MOST = 16;

/**
 * The ledger is read more often for this time after a request: a person often sends it again, with the
 * proof that the first answer asks for.
 */
const HOT_MS = 30_000;

interface PassingOptions {
  database: Pick<LedgerDatabase, "all" | "batch">;
  machine_id: string;
  /** Carries out a request of another machine. It must not throw. */
  serve: (request: unknown) => Promise<PassedAnswer>;
}

/** How a request that was passed on ended. */
export type Passed = { answer: PassedAnswer } | { failed: "not taken" | "not answered" };

/**
 * Passes requests between the machines that share a ledger. A request is carried out at most once: the
 * other machine takes it, or this one withdraws it, by a compare-and-set.
 */
export class Passing {
  readonly #options: PassingOptions;
  #hot_until = -Infinity;

  constructor(options: PassingOptions) {
    this.#options = options;
  }

  /** Whether another machine has just sent a request, so that it may soon send one more. */
  get isHot(): boolean {
    return performance.now() < this.#hot_until;
  }

  /** Passes a request to a machine and waits for its answer. @throws GateError `unavailable` */
  async pass(machine: string, request: unknown): Promise<Passed> {
    const { database } = this.#options;
    const id = crypto.randomUUID();
    await database.batch([
      { sql: `DELETE FROM ${PASSED} WHERE asked_at < unixepoch() - ?`, args: [STALE_S] },
      {
        sql: `INSERT INTO ${PASSED} (id, machine, request, state, asked_at)
          VALUES (?, ?, ?, 'asked', unixepoch())`,
        args: [id, machine, jsonText(request)],
      },
    ]);
    const began = performance.now();
    for (;;) {
      await setTimeout(LOOK_MS);
      const [row] = await database.all(`SELECT state, answer FROM ${PASSED} WHERE id = ?`, [id]);
      if (row?.state === "answered") {
        await database.batch([{ sql: `DELETE FROM ${PASSED} WHERE id = ?`, args: [id] }]);
        const { data: answer } = Answer.safeParse(parseJson(row.answer));
        return answer ? { answer } : { failed: "not answered" };
      }
      const waited = performance.now() - began;
      if (waited > TAKE_MS && await this.#withdraw(id)) return { failed: "not taken" };
      if (!row || waited > TAKE_MS + ANSWER_MS) return { failed: "not answered" };
    }
  }

  /** Takes the requests of other machines and begins to carry them out. */
  async takeAll(): Promise<void> {
    const { database, machine_id } = this.#options;
    const asked = `SELECT id FROM ${PASSED} WHERE machine = ? AND state = 'asked' LIMIT ${MOST}`;
    if ((await database.all(asked, [machine_id])).length === 0) return;
    const [taken] = await database.batch([{
      sql: `UPDATE ${PASSED} SET state = 'taken' WHERE id IN (${asked}) RETURNING id, request`,
      args: [machine_id],
    }]);
    this.#hot_until = performance.now() + HOT_MS;
    for (const { id, request } of taken!) void this.#answer(String(id), String(request));
  }

  async #answer(id: string, request: string): Promise<void> {
    const { database, serve } = this.#options;
    const answer = await serve(parseJson(request));
    // Without a server there is no answer; the other machine says so.
    await database.batch([{
      sql: `UPDATE ${PASSED} SET state = 'answered', answer = ? WHERE id = ? AND state = 'taken'`,
      args: [jsonText(answer), id],
    }]).catch(() => {});
  }

  async #withdraw(id: string): Promise<boolean> {
    const [rows] = await this.#options.database.batch([{
      sql: `DELETE FROM ${PASSED} WHERE id = ? AND state = 'asked' RETURNING id`,
      args: [id],
    }]);
    return rows!.length > 0;
  }
}

const MOST_MESSAGE = 16 * 1024;

/** Whoever writes the ledger can write an answer. */
const Answer: z.ZodType<PassedAnswer> = z.union([
  z.object({ body: z.looseObject({}) }),
  z.object({
    refused: z.object({
      code: z.string(),
      message: z.string().max(MOST_MESSAGE),
      fields: z.record(z.string(), z.unknown()),
    }),
  }),
]);

/** The value of a text from the ledger; null if it is no JSON. */
function parseJson(text: unknown): unknown {
  try {
    return JSON.parse(String(text));
  } catch {
    return null;
  }
}
