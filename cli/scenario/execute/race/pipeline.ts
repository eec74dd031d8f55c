import { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import { serialize } from "../http.ts";
import { lateAnswer, wordsOf } from "../transport_error.ts";
import { openSocket } from "./connect.ts";
import type { Outcome, Shot, Volley } from "./strategy.ts";
import { type RawAnswer, ResponseParser } from "./response_parser.ts";
import { shotOf } from "./runner.ts";

/**
 * Sends all requests in one write on one HTTP/1.1 connection. Node processes them concurrently, most
 * other servers one by one, so `auto` never chooses this strategy.
 */
export async function racePipelined(volley: Volley): Promise<Outcome> {
  const { target, request, count, timeout_ms } = volley;
  const opened = await openSocket(target, { ...volley, protocols: ["http/1.1"] });
  if (opened instanceof Error) return { shots: [], error: opened.message };
  const headers = { Connection: "keep-alive", ...request.headers };
  const bytes = serialize(target, { ...request, headers });
  const answers = new Answers(opened.socket, request.method, count);
  const released = performance.now();
  opened.socket.write(Buffer.concat(Array.from({ length: count }, () => bytes)));
  const sent = performance.now();
  await answers.settled(timeout_ms);
  opened.socket.destroy();
  return { shots: answers.shots(released, sent) };
}

/** A larger answer ends the volley. */
const ANSWER_BYTES = 256 * 1024;

/** The answers of one connection, in the order of the requests. */
class Answers {
  readonly #method: string;
  readonly #count: number;
  readonly #done: { answer: RawAnswer; at: number }[] = [];
  #bytes: Buffer = Buffer.alloc(0);
  #error: string | null = null;
  #finish: () => void = () => {};
  readonly #finished: Promise<void>;

  constructor(socket: Socket, method: string, count: number) {
    this.#method = method;
    this.#count = count;
    this.#finished = new Promise((resolve) => this.#finish = resolve);
    socket.on("data", (chunk) => this.#take(chunk));
    socket.on("error", (error) => this.#end(wordsOf(error)));
    socket.on("close", () => this.#end("the connection was closed without an answer"));
  }

  async settled(timeout: number): Promise<void> {
    const timer = setTimeout(() => this.#end(lateAnswer(timeout)), timeout);
    await this.#finished;
    clearTimeout(timer);
  }

  shots(released: number, sent: number): Shot[] {
    const none: RawAnswer = new ResponseParser(this.#method).answer();
    return Array.from({ length: this.#count }, (_, n) => {
      const got = this.#done[n];
      const error = got ? null : this.#error;
      return shotOf(got?.answer ?? none, { sent, answered: got?.at ?? null, released, error });
    });
  }

  #take(chunk: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    while (this.#done.length < this.#count && this.#bytes.length > 0) {
      const parser = new ResponseParser(this.#method);
      try {
        parser.push(this.#bytes);
      } catch (error) {
        return this.#end((error as Error).message);
      }
      const answer = parser.answer();
      if (!answer.complete) {
        return this.#bytes.length > ANSWER_BYTES
          ? this.#end("its answers are too large")
          : undefined;
      }
      this.#done.push({ answer, at: performance.now() });
      this.#bytes = parser.rest();
    }
    if (this.#done.length === this.#count) this.#end(null);
  }

  #end(error: string | null): void {
    this.#error ??= error;
    this.#finish();
  }
}
