import type { RefObject } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Action, ActionDetail } from "../../server/actions/schema.ts";
import { Card } from "../card/card.tsx";
import type { DiffMode } from "../diff/diff.tsx";
import { stepFile } from "../diff/files.tsx";
import { Icon } from "../parts/icon.tsx";
import { Failed, LoadingDialog, LoadingPane, Skeleton, useLazy } from "../parts/placeholder.tsx";
import { useAddress } from "../state/address.ts";
import { tellDrawn } from "../state/code.ts";
import { bind, useKeys } from "../state/keys.ts";
import { detailOf } from "../state/live.ts";
import { DecisionBar } from "./decision_bar.tsx";
import { onReturn, waitOf } from "./guard.ts";
import { Review } from "./review.ts";

interface PaneProps {
  id: string;
  onDecided: (action: Action, pressed_at: number) => void;
  onSnoozed: () => void;
}

/** A card and its decision bar. */
export function ReviewPane({ id, onDecided, onSnoozed }: PaneProps) {
  const address = useAddress();
  const loaded = detailOf(id);
  const decided = useRef(onDecided);
  decided.current = onDecided;
  const review = useMemo(
    () => new Review(loaded, (action, pressed_at) => decided.current(action, pressed_at)),
    [loaded],
  );
  const value = loaded.value;
  useEffect(() => {
    if (value) tellDrawn();
  }, [value]);
  if (value && "problem" in value) {
    return (
      <Failed title="This action cannot be shown" problem={value.problem}>
        <p>
          <button type="button" class="link" onClick={() => address.set({ id: null })}>
            Show the queue
          </button>
        </p>
      </Failed>
    );
  }
  return (
    <>
      <BackToList />
      {value
        ? <Reviewed review={review} {...value} onSnoozed={onSnoozed} />
        : <Skeleton lines={10} />}
    </>
  );
}

interface ReviewedProps {
  review: Review;
  detail: ActionDetail;
  read_at: number;
  onSnoozed: () => void;
}

function Reviewed({ review, detail, read_at, onSnoozed }: ReviewedProps) {
  const address = useAddress();
  const scroller = useRef<HTMLDivElement>(null);
  const mode: DiffMode = address.query["view"] === "split" ? "split" : "unified";
  const record = `/actions/${detail.id}`;
  const onMode = (next: DiffMode) => address.set({ view: next === "split" ? "split" : null });
  const scroll = (pages: number) => {
    const pane = scroller.current;
    pane?.scrollBy({ top: pages * pane.clientHeight * 0.85 });
  };
  useEffect(() => {
    review.show(detail, waitOf(detail.id, read_at));
  }, [review, detail.digest, detail.status]);
  useEffect(() => onReturn(() => review.comeBack()), [review]);
  useReviewKeys(review, {
    turnView: () => onMode(mode === "split" ? "unified" : "split"),
    scroll,
    stepFile: (by) => stepFile(scroller.current, by),
    openRecord: () => address.go(record),
  });
  const step = review.mode.value;
  const props = { review, detail, mode };
  return (
    <div class="reviewed">
      {step === "edit" || step === "check"
        ? <Editing {...props} step={step} />
        : <CardPane {...props} onMode={onMode} scroller={scroller} />}
      <DecisionBar
        review={review}
        detail={detail}
        href={address.href(record)}
        onReadOn={() => scroll(1)}
        onSnoozed={onSnoozed}
      />
      {step === "remember" && <Remember review={review} detail={detail} />}
      {step === "wall" && <OpenWall review={review} detail={detail} />}
    </div>
  );
}

interface EditingProps {
  review: Review;
  detail: ActionDetail;
  mode: DiffMode;
  step: "edit" | "check";
}

function Editing({ step, ...props }: EditingProps) {
  const { value, failed } = useLazy(() => import("./edit_pane.tsx"));
  if (value === null) return <LoadingPane failed={failed} onClose={() => props.review.close()} />;
  return step === "edit" ? <value.EditPane {...props} /> : <value.CheckPane {...props} />;
}

function Remember(props: { review: Review; detail: ActionDetail }) {
  const { value, failed } = useLazy(() => import("./remember_dialog.tsx"));
  const close = () => props.review.close();
  if (value === null) return <LoadingDialog failed={failed} onClose={close} />;
  return <value.RememberDialog {...props} />;
}

function OpenWall(props: { review: Review; detail: ActionDetail }) {
  const { value, failed } = useLazy(() => import("./wall_dialog.tsx"));
  const close = () => props.review.close();
  if (value === null) return <LoadingDialog failed={failed} onClose={close} />;
  return <value.WallDialog {...props} />;
}

interface CardPaneProps {
  review: Review;
  detail: ActionDetail;
  mode: DiffMode;
  onMode: (mode: DiffMode) => void;
  scroller: RefObject<HTMLDivElement | null>;
}

function CardPane({ review, detail, mode, onMode, scroller }: CardPaneProps) {
  return (
    <div
      class="scroll card-scroller"
      ref={scroller}
      tabIndex={0}
      role="region"
      aria-label="Planned changes"
    >
      <Card
        key={detail.digest}
        detail={detail}
        mode={mode}
        onMode={onMode}
        reading={review.reading}
        hidden={review.hidden.value}
      />
    </div>
  );
}

function BackToList() {
  const address = useAddress();
  return (
    <button
      type="button"
      class="back back-to-list"
      onClick={() => address.set({ id: null }, { push: true })}
    >
      <Icon name="back" />
      Queue
    </button>
  );
}

interface Handlers {
  turnView: () => void;
  scroll: (pages: number) => void;
  stepFile: (by: 1 | -1) => void;
  openRecord: () => void;
}

/** The shortcuts of a card. */
function useReviewKeys(review: Review, handlers: Handlers): void {
  const step = review.mode.value;
  useKeys([
    ...bind(
      "Decide",
      ["a", "Approve", () => step === "idle" && review.approve()],
      ["r", "Reject", () => step === "idle" && review.open("reject")],
      ["x", "Mark for approval with others", () => step === "idle" && review.mark()],
      ["e", "Edit", () => step === "idle" && review.open("edit")],
      [
        "m",
        "Approve, and do not ask again for a while",
        () => step === "idle" && review.open("remember"),
      ],
      ["z", "Snooze, or bring it back", () => step === "idle" && review.open("snooze")],
      ["w", "Open a wall of the sandbox", () => step === "idle" && review.open("wall")],
      [
        "y",
        "Approve despite the warnings",
        () => step === "confirm" && review.approve(true),
      ],
      ["mod+enter", "Continue with the edit", () => goOn(review)],
      ["escape", "Go back", () => review.close()],
    ),
    ...bind(
      "Show",
      ["d", "Switch between unified and split diff", handlers.turnView],
      ["space", "Scroll down", () => handlers.scroll(1)],
      ["shift+space", "Scroll up", () => handlers.scroll(-1)],
    ),
    ...bind(
      "Move",
      ["]", "Go to the next file", () => handlers.stepFile(1)],
      ["[", "Go to the previous file", () => handlers.stepFile(-1)],
      ["o", "Open the record", handlers.openRecord],
      ["enter", "Open the record", handlers.openRecord],
    ),
  ]);
}

function goOn(review: Review): void {
  if (review.mode.value === "edit") review.open("check");
  else if (review.mode.value === "check") review.approveEdited();
}
