import type { ActionOutcome } from "../../server/sessions/schema.ts";
import { number } from "../parts/words.ts";

/** The word for each outcome, and the height of its mark: what needs a look stands out. */
const OUTCOMES: Record<ActionOutcome, { word: string; height: number }> = {
  allowed: { word: "allowed", height: 5 },
  approved: { word: "approved", height: 8 },
  unused: { word: "expired or cancelled", height: 3 },
  held: { word: "held", height: 12 },
  failed: { word: "failed", height: 12 },
  rejected: { word: "rejected", height: 12 },
  blocked: { word: "blocked", height: 12 },
  rolled_back: { word: "rolled back", height: 8 },
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
      {outcomes.map((outcome, at) => {
        const { height } = OUTCOMES[outcome];
        return (
          <rect
            key={at}
            class={`mark-${outcome}`}
            x={at * WIDTH}
            y={HEIGHT - height}
            width={WIDTH - 1}
            height={height}
          />
        );
      })}
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
