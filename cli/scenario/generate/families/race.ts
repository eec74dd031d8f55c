import { type Family, nameOf } from "../family.ts";
import type { Operation } from "../operation.ts";

/** Path words for what moves money or may happen only once. */
const ONCE =
  /(^|[/_-])(pay|payments?|charges?|capture|refunds?|redeem|claim|transfers?|withdraw|withdrawals?|approve|checkout|purchase|reserve|vote|accept|confirm|activate|use|apply|enroll|register|signup)([/_-]|$)/i;

/** The same changing request many times at once: double payments, overrun limits. */
export const RACE: Family[] = [{
  name: "double_submit",
  depth: "light",
  tell: (operation) => {
    const critical = ONCE.test(operation.path);
    if (!mayRace(operation, critical)) return null;
    return {
      title: `Sending ${nameOf(operation)} ten times at the same moment`,
      who:
        "A user presses the button again because nothing seems to happen; a proxy repeats the request too.",
      preconditions: ["What the request uses up is there exactly once"],
      steps: [
        `Prepare ten identical ${nameOf(operation)} requests`,
        "Release them within a millisecond",
      ],
      chaos: ["All ten pass the check before the first has stored its result"],
      expected: "One request succeeds; the others are told that it has been done.",
      failures: ["It is done more than once", "A uniqueness error of the database becomes a 500"],
      priority: critical ? "critical" : "high",
      concurrency: 10,
    };
  },
}];

/**
 * True when a second success is a bug. PUT, DELETE and requests with an idempotency key may be
 * repeated.
 */
function mayRace(operation: Operation, critical: boolean): boolean {
  if (operation.method !== "POST") return false;
  const keyed = operation.parameters.some(({ name }) => /idempotency/i.test(name));
  return !keyed && (critical || operation.statuses.includes(409));
}
