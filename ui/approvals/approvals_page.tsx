import { useEffect, useRef } from "preact/hooks";
import type { Action } from "../../server/actions/schema.ts";
import { statusWord } from "../parts/badges.tsx";
import { useLazy, Waiting } from "../parts/placeholder.tsx";
import { announce } from "../parts/toast.tsx";
import { plain, sentenceOf } from "../parts/words.ts";
import { useAddress } from "../state/address.ts";
import { bind, useKeys } from "../state/keys.ts";
import { decidedHere, detailOf, removeDecided } from "../state/live.ts";
import { approveMarked, marks } from "./marks.ts";
import { NothingWaits, Queue, QueueHead } from "./queue.tsx";
import { after, neighbour, type QueueItem, useQueue, useWide } from "./queue_items.ts";
import { ReviewPane } from "./review_pane.tsx";

/** The queue of held actions, and the card of the selected one. */
export function ApprovalsPage() {
  const { id: asked, remembered: listed } = useAddress().query;
  const items = useQueue(asked ?? null);
  const selected = asked ?? (useWide() ? items?.[0]?.id ?? null : null);
  const filter = useRef<HTMLInputElement>(null);
  const { step, decided, together } = useNavigation(items ?? [], selected);
  const address = useAddress();
  const remembered = (is: boolean) => address.set({ remembered: is ? "live" : null });
  useKeys([
    ...bind("Move", ["j", "Select the next action", () => step(1)], [
      "k",
      "Select the previous action",
      () => step(-1),
    ]),
    ...bind("Move", ["arrowdown", "Select the next action", () => step(1)], [
      "arrowup",
      "Select the previous action",
      () => step(-1),
    ]),
    ...bind("Decide", ["shift+a", "Approve marked actions", together]),
    ...bind(
      "Show",
      ["/", "Filter the queue", () => filter.current?.focus()],
      ["shift+m", "Show remembered approvals", () => remembered(true)],
    ),
  ]);
  return (
    <main class={`split ${asked ? "split-card" : "split-list"}`}>
      <h1 class="visually-hidden">Approvals</h1>
      <section class="split-left" aria-label="Queue">
        <QueueHead
          filter={filter}
          shown={items?.length ?? 0}
          onApproveMarked={together}
          onRemembered={() => remembered(true)}
        />
        <Queue items={items} selected={selected} />
      </section>
      <section class="split-right" aria-label="Selected action">
        {selected
          ? <ReviewPane key={selected} id={selected} onDecided={decided} />
          : <NothingWaits />}
      </section>
      {listed && <Grants onClose={() => remembered(false)} />}
    </main>
  );
}

function Grants(props: { onClose: () => void }) {
  const { value, failed } = useLazy(() => import("./grants_dialog.tsx"));
  if (value === null) return failed ? <Waiting failed /> : null;
  return <value.GrantsDialog {...props} />;
}

// The ways to the next card: by key, after a decision, after several approvals at once.
function useNavigation(items: QueueItem[], selected: string | null) {
  const address = useAddress();
  const at = items.findIndex((item) => item.id === selected);
  // Loads the next cards in advance.
  useEffect(() => {
    for (const near of items.slice(at + 1, at + 3)) detailOf(near.id);
  }, [selected, items.length]);
  return {
    step(by: number) {
      const next = neighbour(items, at, by);
      if (next) address.set({ id: next.id });
    },
    decided(action: Action) {
      const next = after(items, action.id);
      removeDecided(action);
      announce(outcomeOf(action), address.href(`/actions/${action.id}`));
      address.set({ id: next?.id ?? null });
    },
    async together() {
      if (marks.value.size === 0) return;
      await approveMarked();
      const next = items.find((item) => !decidedHere.has(item.id) && !item.gone);
      address.set({ id: next?.id ?? null });
    },
  };
}

function outcomeOf(action: Action): { text: string; tone: "ok" | "danger" | "quiet" } {
  const what = plain(sentenceOf(action));
  if (action.execution === "failed") {
    return { text: `Approved, but it failed: ${what}`, tone: "danger" };
  }
  const word = statusWord(action.status);
  return { text: `${word[0]!.toUpperCase()}${word.slice(1)}: ${what}`, tone: "ok" };
}
