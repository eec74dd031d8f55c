import { setImmediate } from "node:timers/promises";

/** So long may many small things in a row keep everybody else waiting. */
const STRETCH_MS = 8;

/** The items one by one, with a turn for everybody else now and then: small files are read at once. */
export async function* inTurns<T>(items: Iterable<T>): AsyncGenerator<T> {
  let since = performance.now();
  for (const item of items) {
    yield item;
    if (performance.now() - since < STRETCH_MS) continue;
    await giveTurn();
    since = performance.now();
  }
}

/** Lets everybody else have a turn. */
export async function giveTurn(): Promise<void> {
  await setImmediate();
}
