import { createHash } from "node:crypto";
import type { Database } from "../db/database.ts";
import { GateError } from "../errors.ts";
import {
  findKept,
  forgetAnswers,
  insertRunning,
  type Kept,
  removeKept,
  updateAnswer,
} from "./store.ts";

/** A request that must take effect at most once. */
export interface RepeatableRequest {
  /** The sender, because two callers may use the same key. */
  scope: string;
  key: string;
  method: string;
  path: string;
  json: unknown;
}

/** A stored answer. */
export interface Answer {
  status: number;
  body: string;
  replayed: boolean;
}

const LIFETIME_MS = 24 * 60 * 60 * 1000;
const MAX_KEPT = 10_000;
const MAX_ANSWER = 1024 * 1024;
/** All answers together, counted again after each so many new characters. */
const MAX_ANSWERS = 64 * 1024 * 1024;
const COUNTED_AFTER = 8 * 1024 * 1024;
const KEY = /^[\x21-\x7e]{1,255}$/;
// These requests had no effect, so the caller may correct and resend them.
const NOT_KEPT = new Set([400, 401, 403, 404, 405, 413, 415, 429]);

/** Keeps the answer to each `Idempotency-Key` for 24 hours. */
export class Idempotency {
  readonly #database: Database;
  readonly #now: () => number;
  /** Characters of answers since the last count; at the start it is unknown. */
  #added = COUNTED_AFTER;
  readonly #running = new Map<string, { fingerprint: string; answer: Promise<Answer> }>();

  constructor(database: Database, now: () => number) {
    this.#database = database;
    this.#now = now;
  }

  /**
   * The answer to this request, produced at most once. @throws GateError `invalid` for a bad key,
   * `conflict` when another request used the key or the outcome of the first request is unknown
   */
  async answer(request: RepeatableRequest, produce: () => Promise<Response>): Promise<Answer> {
    if (!KEY.test(request.key)) {
      throw new GateError(
        "invalid",
        "Cannot use this Idempotency-Key: send 1 to 255 visible ASCII characters",
      );
    }
    const key = `${request.scope}:${request.key}`;
    const fingerprint = fingerprintOf(request);
    const running = this.#running.get(key);
    if (running) {
      mustMatch(fingerprint, running.fingerprint, request.key);
      const answer = await running.answer;
      return { ...answer, body: withoutSecret(answer.body), replayed: true };
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
    await insertRunning(this.#database, { key, fingerprint, now: at, expires_at, most: MAX_KEPT });
    const response = await produce();
    const body = await response.text();
    if (response.status >= 500 || NOT_KEPT.has(response.status)) {
      await removeKept(this.#database, key);
    } else if (body.length <= MAX_ANSWER && !body.includes("\0")) {
      await updateAnswer(this.#database, key, response.status, withoutSecret(body));
      this.#added += body.length;
      if (this.#added >= COUNTED_AFTER) {
        this.#added = 0;
        await forgetAnswers(this.#database, MAX_ANSWERS);
      }
    }
    return { status: response.status, body, replayed: false };
  }
}

/** The secret of a session is answered once, so a repeated request does not get it. */
function withoutSecret(body: string): string {
  if (!body.includes('"session_secret"')) return body;
  const { session_secret: _, ...kept } = JSON.parse(body);
  return JSON.stringify(kept);
}

function replay(kept: Kept, fingerprint: string, shown: string): Answer {
  mustMatch(fingerprint, kept.fingerprint, shown);
  if (kept.status === 0) {
    throw new GateError(
      "conflict",
      `Cannot repeat the request with Idempotency-Key "${shown}": it has begun, but its answer ` +
        "was not kept; see the list of actions for its outcome",
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
