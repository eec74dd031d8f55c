import type { PublishedEvent } from "./schema.ts";

/** Receives every event after its commit. Must return at once and must not throw. */
export type Listener = (event: PublishedEvent) => void;

/** Delivers committed events to the listeners in this process. */
export class Bus {
  readonly #listeners = new Set<Listener>();

  /** Calls `listener` for each later event. Returns a function that unsubscribes it. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Delivers the events in order. Unsubscribes a listener that throws. */
  publish(events: readonly PublishedEvent[]): void {
    for (const event of events) {
      for (const listener of [...this.#listeners]) this.#deliver(listener, event);
    }
  }

  #deliver(listener: Listener, event: PublishedEvent): void {
    try {
      listener(event);
    } catch {
      this.#listeners.delete(listener);
    }
  }
}
