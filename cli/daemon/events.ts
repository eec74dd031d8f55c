import { StreamEvent, type Topic } from "../../server/events/schema.ts";
import type { Connection } from "./connect.ts";

/** The daemon's events of those topics, until it ends the stream or `signal` does. */
export async function* listenToEvents(
  { url, fetch, token }: Connection,
  topics: Topic[],
  signal: AbortSignal,
): AsyncGenerator<StreamEvent> {
  const answer = await fetch(`${url}/api/events?topics=${topics.join(",")}`, {
    headers: { authorization: `Bearer ${token}`, accept: "text/event-stream" },
    signal,
  });
  if (!answer.ok || !answer.body) return;
  let rest = "";
  const decoder = new TextDecoder();
  for await (const chunk of answer.body) {
    rest += decoder.decode(chunk, { stream: true });
    const blocks = rest.split("\n\n");
    rest = blocks.pop()!;
    for (const block of blocks) {
      const event = readEvent(block);
      if (event) yield event;
    }
  }
}

function readEvent(block: string): StreamEvent | null {
  const data = block.split("\n").filter((line) => line.startsWith("data:"))
    .map((line) => line.slice(5).trim()).join("\n");
  try {
    const parsed = StreamEvent.safeParse(JSON.parse(data));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}
