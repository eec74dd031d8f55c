import { signal } from "@preact/signals";
import { createParser } from "eventsource-parser";
import type { StreamEvent, Topic } from "../../server/events/schema.ts";
import { distrust, fetchProven } from "./auth.ts";

/** Whether the page receives changes. */
type Connection = "connecting" | "live" | "offline";
export const connection = signal<Connection>("connecting");

interface EventHandlers {
  event(event: StreamEvent): void;
  /** Events may be missing: the page must read everything again. */
  resync(): void;
}

const RETRY_MS = [250, 500, 1000, 2000, 5000];
// The daemon sends a comment every 15 s. After two missing comments the connection counts as lost.
const SILENCE_MS = 35_000;

const topics = new Set<Topic>(["actions", "approvals", "sessions"]);
let reopen = () => {};

/**
 * Receives the events of one more topic until the returned function is called. The page keeps one
 * connection, because a browser opens few to one daemon.
 */
export function follow(topic: Topic): () => void {
  topics.add(topic);
  reopen();
  return () => {
    topics.delete(topic);
    reopen();
  };
}

/**
 * Reads the daemon's events until the returned function is called, and resumes after a lost
 * connection. It uses fetch because an EventSource cannot send the key.
 */
export function openEvents(handlers: EventHandlers): () => void {
  const closed = new AbortController();
  void run(handlers, closed.signal);
  return () => closed.abort();
}

async function run(handlers: EventHandlers, closed: AbortSignal): Promise<void> {
  let last = "";
  let failures = 0;
  while (!closed.aborted) {
    const turn = new AbortController();
    const end = () => turn.abort();
    closed.addEventListener("abort", end, { signal: turn.signal });
    reopen = end;
    try {
      const response = await open(last, turn.signal);
      connection.value = "live";
      failures = 0;
      if (last === "") handlers.resync();
      const { feed } = createParser({
        onEvent({ event, id, data }) {
          if (id) last = id;
          if (event === "resync") handlers.resync();
          else handlers.event(JSON.parse(data) as StreamEvent);
        },
      });
      await read(response.body!, turn.signal, feed);
    } catch {
      if (!turn.signal.aborted) failures += 1;
    }
    if (closed.aborted) return;
    // The connection has ended: another program may answer from now on.
    distrust();
    if (turn.signal.aborted) continue;
    connection.value = failures > 1 ? "offline" : "connecting";
    await pause(RETRY_MS[Math.min(failures, RETRY_MS.length - 1)]!, closed);
  }
}

async function open(last: string, closed: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = { "Accept": "text/event-stream" };
  if (last) headers["Last-Event-ID"] = last;
  const url = `/api/events?topics=${[...topics]}`;
  const response = await fetchProven(url, { headers, signal: closed });
  if (!response.ok || !response.body) throw new Error(`events: ${response.status}`);
  return response;
}

async function read(
  body: ReadableStream<Uint8Array>,
  closed: AbortSignal,
  feed: (text: string) => void,
): Promise<void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  try {
    while (true) {
      const { value, done } = await withSilenceLimit(reader.read(), closed);
      if (done) return;
      feed(decoder.decode(value, { stream: true }));
    }
  } finally {
    reader.cancel().catch(() => {});
  }
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
