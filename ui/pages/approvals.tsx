import { useEffect, useRef } from "preact/hooks";
import type { Action } from "../../server/actions/schema.ts";
import { NothingWaits } from "../components/nothing_waits.tsx";
import { Queue } from "../components/queue.tsx";
import { QueueHead } from "../components/queue_head.tsx";
import { ReviewPane } from "../components/review_pane.tsx";
import { announce } from "../components/toast.tsx";
import { bind, useKeys } from "../keys.ts";
import { after, neighbour, useQueue } from "../queue_items.ts";
import { useAddress } from "../router.ts";
import { detailOf, settle } from "../state.ts";
import { useWide } from "../wide.ts";
import { plain, sentenceOf } from "../words.ts";
import { statusWord } from "../components/badges.tsx";

/** What waits for a person: the queue, and the card of the one that is looked at. */
export function ApprovalsPage() {
  const address = useAddress();
  const { id: asked } = address.query;
  const items = useQueue(asked ?? null);
  const selected = asked ?? (useWide() ? items?.[0]?.id ?? null : null);
  const filter = useRef<HTMLInputElement>(null);
  const at = items?.findIndex((item) => item.id === selected) ?? -1;
  const step = (by: number) => {
    const next = neighbour(items ?? [], at, by);
    if (next) address.set({ id: next.id });
  };
  const decided = (action: Action) => {
    const next = after(items ?? [], action.id);
    settle(action);
    announce(outcomeOf(action), address.href(`/actions/${action.id}`));
    address.set({ id: next?.id ?? null });
  };
  useEffect(() => {
    for (const near of [items?.[at + 1], items?.[at + 2]]) if (near) detailOf(near.id);
  }, [selected, items]);
  useKeys([
    ...bind("Move", ["j", "Next", () => step(1)], ["k", "Previous", () => step(-1)]),
    ...bind("Move", ["arrowdown", "Next", () => step(1)], ["arrowup", "Previous", () => step(-1)]),
    ...bind("Show", ["/", "Filter", () => filter.current?.focus()]),
  ]);
  return (
    <main class={`split ${asked ? "split-card" : "split-list"}`}>
      <h1 class="visually-hidden">Approvals</h1>
      <section class="split-left" aria-label="Queue">
        <QueueHead filter={filter} shown={items?.length ?? 0} />
        <Queue items={items} selected={selected} />
      </section>
      <section class="split-right" aria-label="Card">
        {selected
          ? <ReviewPane key={selected} id={selected} onDecided={decided} />
          : <NothingWaits />}
      </section>
    </main>
  );
}

function outcomeOf(action: Action): { text: string; tone: "ok" | "danger" | "quiet" } {
  const what = plain(sentenceOf(action));
  if (action.execution === "failed") {
    return { text: `Approved, but it failed: ${what}`, tone: "danger" };
  }
  const word = statusWord(action.status);
  return { text: `${word[0]!.toUpperCase()}${word.slice(1)}: ${what}`, tone: "ok" };
}
