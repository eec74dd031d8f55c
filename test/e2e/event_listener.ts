import type { World } from "./world.ts";

/** Reads the event stream like the dashboard: after a disconnect it resumes at its last cursor. */
export class EventListener {
  /** `project_id:seq` of each audit event received. */
  readonly heard = new Set<string>();
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;
  readonly #url: string;
  readonly #token: string;
  #last: string | null;
  /** The number of disconnects. */
  cuts = 0;

  private constructor(world: World, token: string, last: string | null) {
    this.#last = last;
    this.#url = `http://127.0.0.1:${world.port}/api/events?topics=actions`;
    this.#token = token;
    this.#ended = this.#listen();
  }

  /** @param last the cursor to resume at; null starts with the next event */
  static async open(world: World, last: string | null = null): Promise<EventListener> {
    return new EventListener(world, await world.token("viewer"), last);
  }

  /** The cursor of the last event; null before the first. */
  get last(): string | null {
    return this.#last;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }

  async #listen(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await this.#hear().catch(() => {});
      if (this.#stop.signal.aborted) return;
      this.cuts++;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async #hear(): Promise<void> {
    const response = await fetch(this.#url, {
      headers: {
        authorization: `Bearer ${this.#token}`,
        ...(this.#last === null ? {} : { "last-event-id": this.#last }),
      },
      signal: this.#stop.signal,
    });
    if (!response.ok) throw new Error(`the events answer ${response.status}`);
    const reader = response.body!.getReader();
    this.#stop.signal.addEventListener("abort", () => void reader.cancel().catch(() => {}));
    const decoder = new TextDecoder();
    let rest = "";
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const blocks = (rest + decoder.decode(part.value, { stream: true })).split("\n\n");
      rest = blocks.pop()!;
      for (const block of blocks) this.#note(block);
    }
  }

  #note(block: string): void {
    const field = (name: string) => block.match(new RegExp(`^${name}: (.*)$`, "m"))?.[1];
    if (field("event") === "resync") throw new Error("events were lost");
    this.#last = field("id") ?? this.#last;
    const data = field("data");
    if (field("event") !== "actions" || !data) return;
    const { project_id, seq } = JSON.parse(data);
    this.heard.add(`${project_id}:${seq}`);
  }
}
