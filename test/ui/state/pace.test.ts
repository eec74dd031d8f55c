import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Pace } from "../../../ui/state/pace.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A pace whose reads take `took_ms`, and the times at which they began. */
function paced({ first_ms = 0, took_ms = 20 } = {}) {
  const began: number[] = [];
  const start = Date.now();
  const pace = new Pace(() => {
    began.push(Date.now() - start);
    return new Promise((resolve) => setTimeout(resolve, took_ms));
  }, first_ms);
  return { pace, began };
}

describe("Pace", () => {
  test("a single request is read at once", async () => {
    const { pace, began } = paced();
    pace.ask();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(began).toEqual([0]);
  });

  test("a thousand requests in a second cost a handful of reads, and the last one is served", async () => {
    const { pace, began } = paced();
    for (let at = 0; at < 1_000; at++) {
      pace.ask();
      await vi.advanceTimersByTimeAsync(1);
    }
    expect(began.length).toBeLessThan(5);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(began.at(-1)).toBeGreaterThanOrEqual(1_000);
    expect(began.length).toBeLessThan(7);
  });

  test("after a quiet time the next request is read at once again", async () => {
    const { pace, began } = paced();
    for (let at = 0; at < 100; at++) {
      pace.ask();
      await vi.advanceTimersByTimeAsync(10);
    }
    await vi.advanceTimersByTimeAsync(10_000);
    const before = began.length;
    pace.ask();
    expect(began.length).toBe(before + 1);
  });

  test("a request during a read is served after it", async () => {
    const { pace, began } = paced({ took_ms: 100 });
    pace.ask();
    await vi.advanceTimersByTimeAsync(50);
    pace.ask();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(began).toEqual([0, 300]);
  });

  test("a read that fails ends like any other", async () => {
    let reads = 0;
    const pace = new Pace(() => Promise.reject(new Error(`read ${++reads}`)));
    pace.ask();
    await vi.advanceTimersByTimeAsync(1_000);
    pace.ask();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(reads).toBe(2);
  });

  test("nothing is read after the end", async () => {
    const { pace, began } = paced({ first_ms: 100 });
    pace.ask();
    pace.stop();
    pace.ask();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(began).toEqual([]);
  });
});
