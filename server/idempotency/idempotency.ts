import { createHash } from "node:crypto";
import type { Database } from "../db/database.ts";
import { GateError } from "../errors.ts";
import { findKept, insertRunning, type Kept, removeKept, updateAnswer } from "./store.ts";

/** A request that must take effect once, however often it is sent. */
export interface RepeatableRequest {
  /** Who sent it: two callers may use the same key. */
  scope: string;
  key: string;
  method: string;
  path: string;
  json: unknown;
}

/** An answer that can be given again. */
export interface Answer {
  status: number;
  body: string;
  replayed: boolean;
}

const LIFETIME_MS = 24 * 60 * 60 * 1000;
const MOST_KEPT = 10_000;
const LONGEST_ANSWER = 1024 * 1024;
const KEY = /^[\x21-\x7e]{1,255}$/;
// Refused before anything was done: the caller may mend the request and send it again.
const NOT_KEPT = new Set([400, 401, 403, 404, 405, 413, 415, 429]);

/** Remembers for 24 hours what was answered to each `Idempotency-Key`. */
export class Idempotency {
  readonly #database: Database;
  readonly #now: () => number;
  readonly #running = new Map<string, { fingerprint: string; answer: Promise<Answer> }>();

  constructor(database: Database, now: () => number) {
    this.#database = database;
    this.#now = now;
  }

  /**
   * The answer to this request, produced at most once. @throws GateError `invalid` for a bad key,
   * `conflict` when it was used for another request or nobody knows what came of the first
   */
  async answer(request: RepeatableRequest, produce: () => Promise<Response>): Promise<Answer> {
    if (!KEY.test(request.key)) {
      throw new GateError("invalid", "Cannot use this Idempotency-Key: send 1 to 255 letters");
    }
    const key = `${request.scope}:${request.key}`;
    const fingerprint = fingerprintOf(request);
    const running = this.#running.get(key);
    if (running) {
      mustMatch(fingerprint, running.fingerprint, request.key);
      return { ...await running.answer, replayed: true };
    }
    const answer = this.#answerOnce(key, fingerprint, request.key, produce);
    this.#running.set(key, { fingerprint, answer });
    try {
      return await answer;
    } finally {
      this.#running.delete(key);
    }
  }

  async #answerOnce(
    key: string,
    fingerprint: string,
    shown: string,
    produce: () => Promise<Response>,
  ): Promise<Answer> {
    const now = this.#now();
    const at = new Date(now).toISOString();
    const kept = await findKept(this.#database, key, at);
    if (kept) return replay(kept, fingerprint, shown);
    const expires_at = new Date(now + LIFETIME_MS).toISOString();
    await insertRunning(this.#database, { key, fingerprint, now: at, expires_at, most: MOST_KEPT });
    const response = await produce();
    const body = await response.text();
    if (response.status >= 500 || NOT_KEPT.has(response.status)) {
      await removeKept(this.#database, key);
    } else if (body.length <= LONGEST_ANSWER && !body.includes("\0")) {
      await updateAnswer(this.#database, key, response.status, body);
    }
    return { status: response.status, body, replayed: false };
  }
}

function replay(kept: Kept, fingerprint: string, shown: string): Answer {
  mustMatch(fingerprint, kept.fingerprint, shown);
  if (kept.status === 0) {
    throw new GateError(
      "conflict",
      `Cannot repeat the request with Idempotency-Key "${shown}": it was begun, and its answer ` +
        "was not kept. See the list of actions for what came of it",
    );
  }
  return { status: kept.status, body: kept.answer, replayed: true };
}

function mustMatch(fingerprint: string, other: string, shown: string): void {
  if (fingerprint === other) return;
  throw new GateError(
    "conflict",
    `Cannot use Idempotency-Key "${shown}": it belongs to another request`,
  );
}

function fingerprintOf({ method, path, json }: RepeatableRequest): string {
  return createHash("sha256").update(JSON.stringify([method, path, json ?? null])).digest("hex");
}
