import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { NEW_MS, noteStep, waitOf } from "../../../ui/approvals/guard.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"], now: 10_000 }));
afterEach(() => vi.useRealTimers());

/** The wait of a card that is drawn `after` the press and was read `before` it. */
function waitAfter({ before, after }: { before: number; after: number }): number {
  const pressed_at = performance.now();
  noteStep("next", pressed_at);
  vi.advanceTimersByTime(after);
  return waitOf("next", pressed_at - before);
}

test("a card that no press has brought waits long", () => {
  noteStep("other");
  expect(waitOf("next", performance.now() - 60_000)).toBe(NEW_MS);
});

describe("a card that follows a press", () => {
  test("waits as long as a double press takes, if it was here unchanged before", () => {
    const wait = waitAfter({ before: NEW_MS, after: 30 });
    expect(wait).toBeLessThan(NEW_MS);
    expect(wait).toBeGreaterThanOrEqual(400);
  });

  test.each([
    ["came just before the press", { before: NEW_MS - 1, after: 30 }],
    ["came between the press and its own appearance", { before: -10, after: 30 }],
    ["appears late", { before: 60_000, after: 400 }],
  ])("waits long if it %s", (_, times) => expect(waitAfter(times)).toBe(NEW_MS));
});
