import type { Readable, Writable } from "node:stream";
import {
  type JSONRPCMessage,
  JSONRPCMessageSchema,
  type JSONRPCRequest,
  type Transport,
} from "./sdk.ts";

export interface LineOptions {
  input: Readable;
  output: Writable;
  log: (message: string) => void;
  /** A longer line is refused; the connection stays open. */
  max_line_bytes?: number;
  /** How long answers are still sent after the input has ended. */
  linger_ms?: number;
}

// The longest valid line is a write of 16 MiB with each byte escaped as \u00XX.
const MAX_LINE_BYTES = 96 * 1024 * 1024;
const LINGER_MS = 3_000;
const EDGE_BYTES = 1024;
const NEWLINE = 0x0a;

/**
 * One JSON-RPC message on each line. Unlike the SDK's transport it survives a line that is too long,
 * answers an invalid line if it finds the id, and reads large lines in linear time.
 */
export class LineTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;

  readonly #options: Required<LineOptions>;
  #parts: Uint8Array[] = [];
  #bytes = 0;
  #closed = false;
  #ended = false;
  readonly #unanswered = new Set<unknown>();

  constructor(options: LineOptions) {
    this.#options = { max_line_bytes: MAX_LINE_BYTES, linger_ms: LINGER_MS, ...options };
  }

  start(): Promise<void> {
    const { input, output } = this.#options;
    input.on("data", this.#read);
    input.on("end", this.#end);
    input.on("error", () => void this.close());
    output.on("error", () => void this.close());
    return Promise.resolve();
  }

  send(message: JSONRPCMessage): Promise<void> {
    if (this.#closed) return Promise.resolve();
    return new Promise((resolve) => {
      this.#options.output.write(`${JSON.stringify(message)}\n`, () => {
        if (!("method" in message)) this.#unanswered.delete(message.id);
        if (this.#ended && this.#unanswered.size === 0) void this.close();
        resolve();
      });
    });
  }

  close(): Promise<void> {
    if (this.#closed) return Promise.resolve();
    this.#closed = true;
    const { input } = this.#options;
    input.off("data", this.#read);
    input.pause();
    this.#forget();
    this.onclose?.();
    return Promise.resolve();
  }

  /** Answers requests that were received before the input ended. */
  readonly #end = () => {
    this.#ended = true;
    if (this.#unanswered.size === 0) void this.close();
    else setTimeout(() => void this.close(), this.#options.linger_ms);
  };

  readonly #read = (chunk: Uint8Array) => {
    let start = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, start)) {
      this.#keep(chunk.subarray(start, at));
      this.#take();
      start = at + 1;
    }
    this.#keep(chunk.subarray(start));
  };

  #keep(part: Uint8Array): void {
    this.#bytes += part.length;
    this.#parts.push(part);
    if (this.#bytes <= this.#options.max_line_bytes || this.#parts.length < 3) return;
    // Only the edges of a refused line are kept, because they may contain its id.
    const head = this.#parts[0]!.subarray(0, EDGE_BYTES);
    const tail = Buffer.concat(this.#parts.slice(-2)).subarray(-EDGE_BYTES);
    this.#parts = [new Uint8Array(head), new Uint8Array(tail)];
  }

  #take(): void {
    const tooLong = this.#bytes > this.#options.max_line_bytes;
    const line = Buffer.concat(this.#parts).toString("utf8").trim();
    this.#forget();
    if (line === "") return;
    if (tooLong) return this.#refuse(line, -32600, "The message is too long");
    let parsed: unknown;
    try {
      parsed = JSON.parse(line);
    } catch {
      return this.#refuse(line, -32700, "The message is not valid JSON");
    }
    const message = isPlainRequest(parsed) ? parsed : JSONRPCMessageSchema.safeParse(parsed).data;
    if (!message) return this.#refuse(line, -32600, "The message is not JSON-RPC 2.0");
    this.#count(message);
    this.onmessage?.(message);
  }

  #count(message: JSONRPCMessage): void {
    if (!("method" in message)) return;
    if ("id" in message) this.#unanswered.add(message.id);
    if (message.method !== "notifications/cancelled") return;
    this.#unanswered.delete(message.params?.requestId);
  }

  /** Answers if the line has an id: some hosts fail on an answer without one. */
  #refuse(line: string, code: number, message: string): void {
    this.#options.log(`${message}: ${JSON.stringify(line.slice(0, 120))}`);
    const id = idOf(line);
    if (id === null) return;
    const answer = { jsonrpc: "2.0" as const, id, error: { code, message } };
    void this.send(answer as JSONRPCMessage);
  }

  #forget(): void {
    this.#parts = [];
    this.#bytes = 0;
  }
}

/** Whether a message is a plain request, as most are: the SDK's schema takes longer. */
function isPlainRequest(message: unknown): message is JSONRPCRequest {
  if (typeof message !== "object" || message === null || Array.isArray(message)) return false;
  const { jsonrpc, id, method, params = {}, ...others } = message as Record<string, unknown>;
  return jsonrpc === "2.0" && (typeof id === "string" || Number.isSafeInteger(id)) &&
    typeof method === "string" && typeof params === "object" && params !== null &&
    !Array.isArray(params) && isPlainMeta((params as { _meta?: unknown })._meta) &&
    Object.keys(others).length === 0;
}

/** Whether the metadata of a request needs no look by the SDK's schema. */
function isPlainMeta(meta: unknown): boolean {
  if (meta === undefined) return true;
  if (typeof meta !== "object" || meta === null || Array.isArray(meta)) return false;
  const { progressToken: token = 0, [RELATED_TASK]: task } = meta as Record<string, unknown>;
  return task === undefined && (typeof token === "string" || Number.isSafeInteger(token));
}

const RELATED_TASK = "io.modelcontextprotocol/related-task";

/** The id of an invalid request, if it is its first or last field, as clients write it. */
function idOf(line: string): number | string | null {
  const value = String.raw`"id"\s*:\s*(\d{1,15}|"[\w.:-]{1,100}")`;
  const first = new RegExp(String.raw`^\{\s*(?:"jsonrpc"\s*:\s*"[^"]{0,9}"\s*,\s*)?${value}`);
  const last = new RegExp(String.raw`${value}\s*\}$`);
  const found = first.exec(line.slice(0, EDGE_BYTES)) ?? last.exec(line.slice(-EDGE_BYTES));
  return found ? JSON.parse(found[1]!) : null;
}
