import { bind, useKeys } from "./keys.ts";
import type { Review } from "./review.ts";

interface Ways {
  turnView: () => void;
  scroll: (pages: number) => void;
  stepFile: (by: 1 | -1) => void;
  openRecord: () => void;
}

/** The keys of a card: decide, read on, look closer. */
export function useReviewKeys(review: Review, ways: Ways): void {
  const step = review.mode.value;
  useKeys([
    ...bind(
      "Decide",
      ["a", "Approve", () => step === "idle" && review.approve()],
      ["r", "Reject", () => step === "idle" && review.open("reject")],
      ["x", "Mark, to approve several at once", () => step === "idle" && review.mark()],
      ["e", "Edit", () => step === "idle" && review.open("edit")],
      [
        "m",
        "Remember: approve, and do not ask again for a while",
        () => step === "idle" && review.open("remember"),
      ],
      [
        "y",
        "Approve all the same, in the second step",
        () => step === "confirm" && review.approve(true),
      ],
      ["mod+enter", "Go on with an edit", () => goOn(review)],
      ["escape", "Back", () => review.close()],
    ),
    ...bind(
      "Show",
      ["d", "Unified or split", ways.turnView],
      ["space", "Read on", () => ways.scroll(1)],
      ["shift+space", "Read back", () => ways.scroll(-1)],
    ),
    ...bind(
      "Move",
      ["]", "Next file", () => ways.stepFile(1)],
      ["[", "Previous file", () => ways.stepFile(-1)],
      ["o", "Open the record", ways.openRecord],
      ["enter", "Open the record", ways.openRecord],
    ),
  ]);
}

function goOn(review: Review): void {
  if (review.mode.value === "edit") review.open("check");
  else if (review.mode.value === "check") review.approveEdited();
}
