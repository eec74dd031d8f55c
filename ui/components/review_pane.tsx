import type { RefObject } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Action, ActionDetail } from "../../server/actions/schema.ts";
import { stepFile } from "../file_steps.ts";
import { Review } from "../review.ts";
import { useReviewKeys } from "../review_keys.ts";
import { useAddress } from "../router.ts";
import { detailOf } from "../state.ts";
import { Card } from "./card.tsx";
import { DecisionBar } from "./decision_bar.tsx";
import type { DiffMode } from "./diff.tsx";
import { CheckPane, EditPane } from "./edit_pane.tsx";
import { Empty } from "./empty.tsx";
import { Icon } from "./icon.tsx";
import { RememberDialog } from "./remember_dialog.tsx";
import { Skeleton } from "./skeleton.tsx";

interface PaneProps {
  id: string;
  onDecided: (action: Action) => void;
}

/** A card and the bar under it that decides. */
export function ReviewPane({ id, onDecided }: PaneProps) {
  const address = useAddress();
  const loaded = detailOf(id, address.query["project"]);
  const decided = useRef(onDecided);
  decided.current = onDecided;
  const review = useMemo(() => new Review(loaded, (action) => decided.current(action)), [loaded]);
  const value = loaded.value;
  if (value && "problem" in value) {
    return (
      <Empty icon="alert" title="This card cannot be shown">
        <p>{value.problem}</p>
        <p>
          <button type="button" class="link" onClick={() => address.set({ id: null })}>
            Show the queue
          </button>
        </p>
      </Empty>
    );
  }
  return (
    <>
      <BackToList />
      {value ? <Reviewed review={review} detail={value.detail} /> : <Skeleton lines={10} />}
    </>
  );
}

function Reviewed({ review, detail }: { review: Review; detail: ActionDetail }) {
  const address = useAddress();
  const scroller = useRef<HTMLDivElement>(null);
  const mode: DiffMode = address.query["view"] === "split" ? "split" : "unified";
  const record = `/actions/${detail.id}`;
  const onMode = (next: DiffMode) => address.set({ view: next === "split" ? "split" : null });
  const scroll = (pages: number) => {
    const pane = scroller.current;
    pane?.scrollBy({ top: pages * pane.clientHeight * 0.85 });
  };
  useEffect(() => review.show(detail), [review, detail.digest, detail.status]);
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
      {step === "edit"
        ? <EditPane {...props} />
        : step === "check"
        ? <CheckPane {...props} />
        : <CardPane {...props} onMode={onMode} scroller={scroller} />}
      <DecisionBar
        review={review}
        detail={detail}
        href={address.href(record)}
        onReadOn={() => scroll(1)}
      />
      {step === "remember" && <RememberDialog review={review} detail={detail} />}
    </div>
  );
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
      class="card-scroller"
      ref={scroller}
      tabIndex={0}
      role="region"
      aria-label="What would be done"
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
      class="back-to-list"
      onClick={() => address.set({ id: null }, { push: true })}
    >
      <Icon name="back" />
      Queue
    </button>
  );
}
