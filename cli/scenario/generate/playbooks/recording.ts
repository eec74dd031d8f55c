import type { PlaybookStep } from "../../driver/playbook_schema.ts";
import type { Draft } from "../family.ts";
import { type Operation, sampleRequest } from "../operation.ts";
import { tell } from "./resource.ts";

/** The most requests of a visit. */
const REQUESTS = 25;

/** Sends a recorded visit twice, as with back, refresh or an old tab. */
export function replayedRecording(operations: Operation[]): Draft[] {
  const visit = operations.filter(({ recorded }) => recorded !== undefined)
    .sort((a, b) => a.recorded! - b.recorded!)
    .slice(0, REQUESTS);
  const [first] = visit;
  if (!first || visit.length < 2) return [];
  const round = (name: string): PlaybookStep[] =>
    visit.map((operation, at) => ({
      ...sampleRequest(operation),
      name: `${name} ${at + 1}: ${operation.method} ${operation.path}`,
    }));
  return [tell(first, {
    family: "recorded_visit",
    title: "Going through a recorded visit twice",
    who: "A user goes back to the first page and does everything again, in a tab left open.",
    steps: [`Send the ${visit.length} recorded requests in order`, "Send them all again"],
    chaos: ["The second time everything is there already, or gone"],
    expected: "Every request is answered, done again or refused; none makes the server fail.",
    failures: ["A repeated step meets a state that nobody thought of, and crashes"],
    priority: "high",
  }, { steps: [...round("first"), ...round("again")] })];
}
