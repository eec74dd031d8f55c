import { setImmediate } from "node:timers/promises";

/** Runs pieces of work one at a time, in the order of their calls. */
export class Serial {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs the work after all earlier work has ended, whether it succeeded or failed. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work, work);
    this.#last = turn.catch(() => {});
    return turn;
  }
}

/** Yields to the event loop after this many milliseconds. */
const SLICE_MS = 8;

/** The items one by one. Yields to the event loop between items after each time slice. */
export async function* inTurns<T>(items: Iterable<T>): AsyncGenerator<T> {
  let since = performance.now();
  for (const item of items) {
    yield item;
    if (performance.now() - since < SLICE_MS) continue;
    await yieldTurn();
    since = performance.now();
  }
}

/** Yields to the event loop once. */
export async function yieldTurn(): Promise<void> {
  await setImmediate();
}
