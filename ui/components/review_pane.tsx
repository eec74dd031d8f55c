import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Action, ActionDetail } from "../../server/actions/schema.ts";
import { useKeys } from "../keys.ts";
import { Review } from "../review.ts";
import { useAddress } from "../router.ts";
import { detailOf } from "../state.ts";
import { Card } from "./card.tsx";
import { DecisionBar } from "./decision_bar.tsx";
import type { DiffMode } from "./diff.tsx";
import { CheckPane, EditPane } from "./edit_pane.tsx";
import { Empty } from "./empty.tsx";
import { Icon } from "./icon.tsx";
import { Skeleton } from "./skeleton.tsx";

interface PaneProps {
  id: string;
  onDecided: (action: Action) => void;
}

/** A card and the bar under it that decides. */
export function ReviewPane({ id, onDecided }: PaneProps) {
  const loaded = detailOf(id, useAddress().query["project"]);
  const decided = useRef(onDecided);
  decided.current = onDecided;
  const review = useMemo(() => new Review(loaded, (action) => decided.current(action)), [loaded]);
  const value = loaded.value;
  if (value && "problem" in value) {
    return (
      <Empty icon="alert" title="This card cannot be shown">
        <p>{value.problem}</p>
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
  const onMode = (next: DiffMode) => address.set({ view: next === "split" ? "split" : null });
  const href = address.href(`/actions/${detail.id}`);
  const scroll = (pages: number) => {
    const pane = scroller.current!;
    pane.scrollBy({ top: pages * pane.clientHeight * 0.85 });
  };
  const reading = useMemo(() => ({
    shown(hidden: number, unseen = false) {
      review.hidden.value = hidden;
      review.unseen.value = unseen;
      review.shown.value = true;
    },
    end(seen: boolean) {
      review.measured.value = true;
      if (seen) review.ended.value = true;
    },
  }), [review]);
  useEffect(() => review.show(detail), [review, detail.digest, detail.status]);
  const step = review.mode.value;
  useKeys([
    {
      keys: "a",
      label: "Approve",
      group: "Decide",
      run: () => step === "idle" && review.approve(),
    },
    {
      keys: "r",
      label: "Reject",
      group: "Decide",
      run: () => step === "idle" && review.open("reject"),
    },
    {
      keys: "e",
      label: "Edit",
      group: "Decide",
      run: () => step === "idle" && review.open("edit"),
    },
    {
      keys: "y",
      label: "Approve all the same, in the second step",
      group: "Decide",
      run: () => step === "confirm" && review.approve(true),
    },
    {
      keys: "mod+enter",
      label: "Go on with an edit",
      group: "Decide",
      run: () =>
        step === "edit" ? review.open("check") : step === "check" && review.approveEdited(),
    },
    { keys: "escape", label: "Back", group: "Decide", run: () => review.close() },
    {
      keys: "d",
      label: "Unified or split",
      group: "Show",
      run: () => onMode(mode === "split" ? "unified" : "split"),
    },
    { keys: "space", label: "Read on", group: "Show", repeat: true, run: () => scroll(1) },
    { keys: "shift+space", label: "Read back", group: "Show", repeat: true, run: () => scroll(-1) },
    {
      keys: "o",
      label: "Open the record",
      group: "Move",
      run: () => address.go(`/actions/${detail.id}`),
    },
    {
      keys: "enter",
      label: "Open the record",
      group: "Move",
      run: () => address.go(`/actions/${detail.id}`),
    },
  ]);
  return (
    <div class="reviewed">
      {step === "edit"
        ? <EditPane review={review} detail={detail} />
        : step === "check"
        ? <CheckPane review={review} detail={detail} mode={mode} />
        : (
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
              reading={reading}
              hidden={review.hidden.value}
            />
          </div>
        )}
      <DecisionBar review={review} detail={detail} href={href} onReadOn={() => scroll(1)} />
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
