import type { PublishedEvent } from "./schema.ts";

/** Hears every event after its commit; must not throw and must not wait. */
export type Listener = (event: PublishedEvent) => void;

/** Hands committed events to whoever listens in this process. */
export class Bus {
  readonly #listeners = new Set<Listener>();

  /** Calls `listener` for each event from now on; the returned function ends that. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Hands the events on, in order. A listener that throws is dropped: the commit stands. */
  publish(events: readonly PublishedEvent[]): void {
    for (const event of events) {
      for (const listener of [...this.#listeners]) this.#tell(listener, event);
    }
  }

  #tell(listener: Listener, event: PublishedEvent): void {
    try {
      listener(event);
    } catch {
      this.#listeners.delete(listener);
    }
  }
}
