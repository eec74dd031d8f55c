import type { ActionDetail } from "../../server/actions/schema.ts";
import { Button } from "../parts/button.tsx";
import { Until } from "../parts/time.tsx";
import { announce } from "../parts/toast.tsx";
import { plain, sentenceOf } from "../parts/words.ts";
import { bind, useKeys } from "../state/keys.ts";
import type { Review } from "./review.ts";
import { snooze } from "./snoozes.ts";

const SPANS = [
  { keys: "1", label: "15 minutes", minutes: 15 },
  { keys: "2", label: "1 hour", minutes: 60 },
  { keys: "3", label: "8 hours", minutes: 480 },
  { keys: "4", label: "Until it changes", minutes: null },
] as const;

interface StepProps {
  review: Review;
  detail: ActionDetail;
  onSnoozed: () => void;
}

/** Asks how long the card sinks to the end of the queue. */
export function SnoozeStep({ review, detail, onSnoozed }: StepProps) {
  const choose = ({ minutes, label }: typeof SPANS[number]) => {
    if (!snooze(detail, minutes)) {
      review.notice.value =
        "The deadline is too near to snooze it. Decide on it, or let it expire.";
      return review.close();
    }
    const until = minutes === null ? "until it changes" : `for ${label}`;
    const text = `Snoozed ${until}: ${plain(sentenceOf(detail))}`;
    announce({ text, tone: "ok" }, null);
    onSnoozed();
  };
  useKeys(
    bind(
      "Decide",
      ...SPANS.map((span) => [span.keys, `Snooze: ${span.label}`, () => choose(span)] as const),
    ),
  );
  return (
    <div class="decision-step" role="group" aria-label="Snooze">
      <p class="decision-title">Move it to the end of the queue of this browser</p>
      <p class="quiet small">
        It stays held and can be decided there.
        {detail.expires_at && (
          <>
            {" "}
            It expires in <Until at={detail.expires_at} />, and comes back 10 minutes before.
          </>
        )}
      </p>
      <div class="decision-buttons">
        {SPANS.map((span) => (
          <Button key={span.keys} keys={span.keys} onClick={() => choose(span)}>
            {span.label}
          </Button>
        ))}
        <Button kind="quiet" keys="escape" onClick={() => review.close()}>Back</Button>
      </div>
    </div>
  );
}
