import { createParser } from "eventsource-parser";
import { StreamEvent, type Topic } from "../../server/events/schema.ts";
import type { Connection } from "./connect.ts";

/**
 * The daemon's events of these topics. Ends when the daemon ends the stream or `signal` aborts it,
 * or at once if the daemon refuses.
 */
export async function* listenToEvents(
  { url, fetch, token }: Connection,
  topics: Topic[],
  signal: AbortSignal,
): AsyncGenerator<StreamEvent> {
  const response = await fetch(`${url}/api/events?topics=${topics.join(",")}`, {
    headers: { authorization: `Bearer ${token}`, accept: "text/event-stream" },
    signal,
  });
  if (!response.ok || !response.body) return;
  const received: StreamEvent[] = [];
  const parser = createParser({
    onEvent({ data }) {
      const event = parseEvent(data);
      if (event) received.push(event);
    },
  });
  const decoder = new TextDecoder();
  for await (const chunk of response.body) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    yield* received.splice(0);
  }
}

function parseEvent(data: string): StreamEvent | null {
  try {
    return StreamEvent.safeParse(JSON.parse(data)).data ?? null;
  } catch {
    return null;
  }
}
