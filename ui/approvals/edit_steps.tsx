import { editableOf } from "../card/card.tsx";
import { Button } from "../parts/button.tsx";
import type { Review } from "./review.ts";
import { TypedField } from "./typed_field.tsx";

/** The decision bar of an edit: on to the check, then the approval. */
export function EditSteps({ review, step }: { review: Review; step: "edit" | "check" }) {
  return step === "edit" ? <EditStep review={review} /> : <CheckStep review={review} />;
}

function EditStep({ review }: { review: Review }) {
  const same = review.draft.value === editableOf(review.detail.value!);
  return (
    <div class="decision-row">
      <div class="decision-buttons">
        <Button
          kind="primary"
          keys="mod+enter"
          disabled={same}
          onClick={() => review.open("check")}
        >
          Review your change
        </Button>
        <Button kind="quiet" keys="escape" onClick={() => review.close()}>Back</Button>
      </div>
      <p class="quiet small digest">
        {same ? "You have not changed anything yet" : "Your version will be executed"}
      </p>
    </div>
  );
}

function CheckStep({ review }: { review: Review }) {
  return (
    <div class="decision-row">
      <TypedField review={review} onEnter={() => review.approveEdited()} />
      <div class="decision-buttons">
        <Button
          kind="primary"
          icon="check"
          keys="mod+enter"
          busy={review.isLocked.value}
          disabled={!review.isTyped.value}
          onClick={() => review.approveEdited()}
        >
          Approve with edit
        </Button>
        <Button kind="quiet" keys="escape" onClick={() => review.close()}>
          Back to the editor
        </Button>
      </div>
      <p class="quiet small digest">The agent sees your changes</p>
    </div>
  );
}
