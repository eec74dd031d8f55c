import { signal } from "@preact/signals";
import type { StreamEvent } from "../../server/events/schema.ts";
import { forgetKey, key } from "./auth.ts";

/** Whether what is on the page is kept up to date. */
export type Connection = "connecting" | "live" | "offline";
export const connection = signal<Connection>("connecting");

export interface EventHandlers {
  event(event: StreamEvent): void;
  /** Events may have been missed: everything on the page has to be read again. */
  resync(): void;
}

const RETRY_MS = [250, 500, 1000, 2000, 5000];
// The daemon sends a comment every 15 s; two of them missed is a dead line.
const SILENCE_MS = 35_000;

/**
 * Reads the daemon's events for as long as the page lives, through fetch because an EventSource
 * can carry no key. A lost line is taken up again where it broke off.
 */
export function openEvents(handlers: EventHandlers): () => void {
  const closed = new AbortController();
  run(handlers, closed.signal);
  return () => closed.abort();
}

async function run(handlers: EventHandlers, closed: AbortSignal): Promise<void> {
  let last = "";
  let failures = 0;
  while (!closed.aborted) {
    try {
      const response = await open(last, closed);
      connection.value = "live";
      failures = 0;
      if (last === "") handlers.resync();
      for await (const message of messages(response.body!, closed)) {
        if (message.id) last = message.id;
        deliver(message, handlers);
      }
    } catch {
      failures += 1;
    }
    if (closed.aborted) return;
    connection.value = failures > 1 ? "offline" : "connecting";
    await pause(RETRY_MS[Math.min(failures, RETRY_MS.length - 1)]!, closed);
  }
}

async function open(last: string, closed: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = { Accept: "text/event-stream" };
  if (key.value) headers["X-Gate-Key"] = key.value;
  if (last) headers["Last-Event-ID"] = last;
  const url = "/api/events?topics=actions,approvals,sessions";
  const response = await fetch(url, { headers, credentials: "omit", signal: closed });
  if (response.status === 401) forgetKey();
  if (!response.ok || !response.body) throw new Error(`events: ${response.status}`);
  return response;
}

interface Message {
  event: string;
  id: string;
  data: string;
}

async function* messages(body: ReadableStream<Uint8Array>, closed: AbortSignal) {
  const reader = body.pipeThrough(
    new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>,
  )
    .getReader();
  let rest = "";
  try {
    while (true) {
      const { value, done } = await withSilenceLimit(reader.read(), closed);
      if (done) return;
      const blocks = (rest + value.replaceAll("\r\n", "\n")).split("\n\n");
      rest = blocks.pop()!;
      for (const block of blocks) yield parse(block);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function parse(block: string): Message {
  const message: Message = { event: "message", id: "", data: "" };
  for (const line of block.split("\n")) {
    const cut = line.indexOf(":");
    if (cut <= 0) continue;
    const field = line.slice(0, cut);
    const value = line.slice(cut + 1).replace(/^ /, "");
    if (field === "data") message.data += message.data === "" ? value : `\n${value}`;
    if (field === "id" || field === "event") message[field] = value;
  }
  return message;
}

function deliver(message: Message, handlers: EventHandlers): void {
  if (message.event === "resync") return handlers.resync();
  if (message.data === "") return;
  handlers.event(JSON.parse(message.data) as StreamEvent);
}

async function withSilenceLimit<T>(read: Promise<T>, closed: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error("events: silent")), SILENCE_MS);
  const abort = () => reject(new Error("events: closed"));
  closed.addEventListener("abort", abort);
  try {
    return await Promise.race([read, promise]);
  } finally {
    clearTimeout(timer);
    closed.removeEventListener("abort", abort);
  }
}

function pause(ms: number, closed: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    closed.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    }, { once: true });
  });
}
