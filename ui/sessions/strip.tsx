import type { ActionOutcome } from "../../server/sessions/schema.ts";
import { number } from "../parts/words.ts";

type Part = readonly [from: number, to: number];

/** The word and the mark of each outcome, from its top: what needs a look stands out by its shape too. */
const OUTCOMES: Record<ActionOutcome, { word: string; parts: readonly Part[] }> = {
  allowed: { word: "allowed", parts: [[7, 12]] },
  approved: { word: "approved", parts: [[4, 12]] },
  unused: { word: "expired or cancelled", parts: [[9, 12]] },
  held: { word: "held", parts: [[0, 5]] },
  failed: { word: "failed", parts: [[0, 8], [10, 12]] },
  rejected: { word: "rejected", parts: [[0, 5], [7, 12]] },
  blocked: { word: "blocked", parts: [[0, 12]] },
  rolled_back: { word: "rolled back", parts: [[4, 7], [9, 12]] },
};

const WIDTH = 3;
const HEIGHT = 12;
const MOST = 40;

/** One mark for each of the newest actions of a session, oldest first. */
export function Strip({ outcomes }: { outcomes: readonly ActionOutcome[] }) {
  if (outcomes.length === 0) return null;
  const words = wordsOf(outcomes);
  return (
    <svg
      class="outcomes"
      width={MOST * WIDTH}
      height={HEIGHT}
      viewBox={`0 0 ${MOST * WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={words}
    >
      <title>{words}</title>
      {outcomes.map((outcome, at) => (
        <path
          key={at}
          class={`mark-${outcome}`}
          d={OUTCOMES[outcome].parts.map(([from, to]) =>
            `M${at * WIDTH} ${from}h${WIDTH - 1}V${to}h${1 - WIDTH}z`
          ).join("")}
        />
      ))}
    </svg>
  );
}

function wordsOf(outcomes: readonly ActionOutcome[]): string {
  const counts = new Map<ActionOutcome, number>();
  for (const outcome of outcomes) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  const parts = [...counts].map(([outcome, times]) => `${number(times)} ${OUTCOMES[outcome].word}`);
  const cut = outcomes.length === MOST ? `The newest ${MOST}: ` : "";
  return `${cut}${parts.join(", ")}`;
}
