import { setImmediate } from "node:timers/promises";

/** So many files are looked at before everybody else has a turn. */
const STRETCH = 25;

/** The items one by one, with a turn for everybody else now and then: small files are read at once. */
export async function* inTurns<T>(items: Iterable<T>): AsyncGenerator<T> {
  let count = 0;
  for (const item of items) {
    if (++count % STRETCH === 0) await setImmediate();
    yield item;
  }
}
