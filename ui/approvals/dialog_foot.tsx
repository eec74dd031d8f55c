import type { ComponentChildren } from "preact";
import { Button } from "../parts/button.tsx";
import { Cautions } from "./decision_bar.tsx";
import type { Review } from "./review.ts";

interface FootProps {
  review: Review;
  /** The name of the button that approves. */
  verb: string;
  isReady: boolean;
  busy?: boolean;
  save: () => void;
  /** Stands between the warnings and the buttons. */
  children?: ComponentChildren;
}

/** The end of a dialog that approves: the warnings and the buttons. */
export function DialogFoot({ review, verb, isReady, busy = false, save, children }: FootProps) {
  const cautions = review.cautions.value;
  return (
    <>
      {cautions.length > 0 && <Cautions cautions={cautions} />}
      {children}
      <p class="remember-notice" role="status">{review.notice.value}</p>
      <div class="decision-buttons">
        <Button
          kind="primary"
          icon="check"
          keys="mod+enter"
          disabled={!isReady}
          busy={review.isLocked.value || busy}
          onClick={save}
        >
          {verb}
        </Button>
        <Button kind="quiet" keys="escape" onClick={() => review.close()}>Back</Button>
      </div>
    </>
  );
}
