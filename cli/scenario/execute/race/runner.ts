import type { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import type { Socket } from "node:net";
import { lateAnswer, wordsOf } from "../transport_error.ts";
import type { Shot } from "./strategy.ts";
import { type RawAnswer, ResponseParser } from "./response_parser.ts";

/** One connection of a volley with one request. */
export class Runner {
  readonly socket: Socket;
  readonly #parser: ResponseParser;
  sent = 0;
  #answered: number | null = null;
  #answer: RawAnswer | null = null;
  #error: string | null = null;
  #done: () => void = () => {};
  readonly #finished: Promise<void>;

  constructor(socket: Socket, method: string) {
    this.socket = socket;
    this.#parser = new ResponseParser(method);
    this.#finished = new Promise((resolve) => this.#done = resolve);
    socket.on("data", (chunk) => this.#take(chunk));
    socket.on("error", (error) => this.#end(wordsOf(error)));
    socket.on("close", () => this.#end(null));
  }

  /** The reaction to an incomplete request: an answer, a refusal, or null for none. */
  early(): "answered" | "refused" | null {
    const status = this.#parser.answer().status;
    if (status !== null) return status === 408 ? "refused" : "answered";
    return this.#answer ? "refused" : null;
  }

  async settled(timeout: number): Promise<void> {
    const timer = setTimeout(() => this.#end(lateAnswer(timeout)), timeout);
    await this.#finished;
    clearTimeout(timer);
  }

  shot(released: number): Shot {
    const answer = this.#answer!;
    const error = this.#error ?? (answer.status === null ? this.#nothing() : null);
    return shotOf(answer, { sent: this.sent, answered: this.#answered, released, error });
  }

  /** Why a connection that was closed has no answer. */
  #nothing(): string {
    return this.#answered === null
      ? "the connection was closed without an answer"
      : "the answer is not HTTP/1.1";
  }

  #take(chunk: Buffer): void {
    this.#answered ??= performance.now();
    try {
      this.#parser.push(chunk);
    } catch (error) {
      return this.#end((error as Error).message);
    }
    if (this.#parser.answer().complete) this.#end(null);
  }

  #end(error: string | null): void {
    if (this.#answer) return;
    this.#answer = this.#parser.answer(true);
    this.#error = error;
    this.#done();
  }
}

/** A shot with times counted from the release. */
export function shotOf(
  { status, headers, body, interim }: RawAnswer,
  at: { sent: number; answered: number | null; released: number; error: string | null },
): Shot {
  const micros = (time: number) => Math.round((time - at.released) * 1_000);
  return {
    status,
    sent_us: micros(at.sent),
    answered_us: at.answered === null ? null : micros(at.answered),
    fingerprint: status === null ? null : fingerprint(body),
    error: at.error,
    headers,
    interim,
  };
}

function fingerprint(body: Buffer): string {
  return createHash("sha256").update(body).digest("hex").slice(0, 8);
}
