import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Action } from "../../server/actions/schema.ts";
import { decisionWord } from "../parts/badges.tsx";
import { Button } from "../parts/button.tsx";
import { Empty, LoadingDialog, useLazy, Waiting } from "../parts/placeholder.tsx";
import { announce, STEP_SHOWN_MS } from "../parts/toast.tsx";
import { plain, sentenceOf } from "../parts/words.ts";
import { useAddress } from "../state/address.ts";
import { bind, useKeys } from "../state/keys.ts";
import { decidedHere, detailOf, pending, removeDecided } from "../state/live.ts";
import { noteStep } from "./guard.ts";
import { marks } from "./marks.ts";
import { matching } from "./matching.ts";
import { NothingWaits, Queue } from "./queue.tsx";
import { QueueHead } from "./queue_head.tsx";
import { after, neighbour, type QueueItem, sortAgain, useQueue, useWide } from "./queue_items.ts";

/** The queue of held actions, and the card of the selected one. */
export function ApprovalsPage() {
  const { id: asked, remembered: listed } = useAddress().query;
  const { items, isLate } = useQueue(asked ?? null) ?? { items: null, isLate: false };
  const { selected, isHidden } = useSelection(items, asked ?? null);
  const filter = useRef<HTMLInputElement>(null);
  const { step, decided, onward, leave, rollBack } = useNavigation(items ?? [], selected);
  const isConfirming = useSignal(false);
  const together = () => {
    isConfirming.value = items?.some(({ id, gone }) => !gone && marks.value.has(id)) ?? false;
  };
  // Loaded with the list, so that the first card need not wait for it.
  const { value: pane, failed } = useLazy(loadPane, "card");
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
    ...bind("Decide", ["shift+a", "Decide on the marked actions", together], [
      "u",
      "Roll back what was just approved",
      rollBack,
    ]),
    ...bind(
      "Show",
      ["/", "Filter the queue", () => filter.current?.focus()],
      [".", "Sort what came later", sortAgain],
      ["shift+m", "Show remembered approvals", () => remembered(true)],
    ),
  ]);
  return (
    <main class={`split ${asked ? "split-card" : "split-list"}`}>
      <h1 class="visually-hidden">Approvals</h1>
      <section class="split-left" aria-label="Queue">
        <QueueHead
          filter={filter}
          items={items ?? []}
          isLate={isLate}
          onMarked={together}
          onRemembered={() => remembered(true)}
        />
        <Queue items={items} selected={selected} />
      </section>
      <section class="split-right" aria-label="Selected action">
        {isHidden
          ? <NotListed />
          : selected
          ? pane
            ? <pane.ReviewPane key={selected} id={selected} onDecided={decided} onSnoozed={leave} />
            : <Waiting failed={failed} />
          : <NothingWaits />}
      </section>
      {isConfirming.value && (
        <Marked
          listed={new Set(items?.map(({ id }) => id))}
          onClose={() => isConfirming.value = false}
          onDecided={onward}
        />
      )}
      {matching.value && <Matches found={matching.value} onDecided={onward} />}
      {listed && <Grants onClose={() => remembered(false)} />}
    </main>
  );
}

const loadPane = () => import("./review_pane.tsx");

/**
 * The selected card. It follows the list: a filter or scope that hides the card deselects it. A link
 * to a held action that the list does not show selects nothing, so that no key decides it.
 */
function useSelection(items: QueueItem[] | null, asked: string | null) {
  const address = useAddress();
  const isWide = useWide();
  const seen = useRef<string | null>(null);
  const isListed = items?.some(({ id }) => id === asked) ?? false;
  const isHeld = pending.value?.some(({ id }) => id === asked) ?? false;
  const isOut = asked !== null && items !== null && isHeld && !isListed;
  const wasListed = isOut && seen.current === asked;
  if (isListed) seen.current = asked;
  useEffect(() => {
    if (wasListed) address.set({ id: null });
  }, [wasListed]);
  const chosen = wasListed ? null : asked;
  return {
    selected: chosen ?? (isWide ? items?.[0]?.id ?? null : null),
    isHidden: isOut && !wasListed,
  };
}

/** A held action that the filter or the scope leaves out. */
function NotListed() {
  const address = useAddress();
  const show = () => address.set({ q: null, scope: "all", workspace: null });
  return (
    <Empty icon="search" title="The list does not show this action">
      <p>The filter or the chosen project leaves it out, so it cannot be decided here.</p>
      <Button onClick={show}>Show it in the list</Button>
    </Empty>
  );
}

function Marked(props: Parameters<typeof import("./marked_dialog.tsx").MarkedDialog>[0]) {
  const { value, failed } = useLazy(() => import("./marked_dialog.tsx"));
  if (value === null) return <LoadingDialog failed={failed} {...props} />;
  return <value.MarkedDialog {...props} />;
}

function Matches(props: Parameters<typeof import("./matching_dialog.tsx").MatchingDialog>[0]) {
  const { value, failed } = useLazy(() => import("./matching_dialog.tsx"));
  const close = () => void (matching.value = null);
  if (value === null) return <LoadingDialog failed={failed} onClose={close} />;
  return <value.MatchingDialog {...props} />;
}

function Grants(props: { onClose: () => void }) {
  const { value, failed } = useLazy(() => import("./grants_dialog.tsx"));
  if (value === null) return <LoadingDialog failed={failed} {...props} />;
  return <value.GrantsDialog {...props} />;
}

// The ways to the next card: by key, after a decision, after several approvals at once.
function useNavigation(items: QueueItem[], selected: string | null) {
  const address = useAddress();
  const at = items.findIndex((item) => item.id === selected);
  const shown = useRef(selected);
  shown.current = selected;
  const last = useRef<{ action: Action; until: number } | null>(null);
  const rollBack = async () => {
    const decided = last.current;
    last.current = null;
    // The key belongs to the announcement; later nobody sees what it would roll back.
    if (decided === null || performance.now() > decided.until) return;
    const { action } = decided;
    const { rollBackLast } = await import("./roll_back_last.ts");
    await rollBackLast(action, address.href(`/actions/${action.id}`));
  };
  // Loads this card while the code for it loads, and the next cards in advance.
  useEffect(() => {
    for (const near of items.slice(Math.max(0, at), at + 3)) detailOf(near.id);
  }, [selected, items.length]);
  return {
    step(by: number) {
      const next = neighbour(items, at, by);
      if (!next) return;
      noteStep(next.id);
      address.set({ id: next.id });
    },
    decided(action: Action, pressed_at: number) {
      const next = after(items, action.id);
      removeDecided(action);
      last.current = { action, until: performance.now() + STEP_SHOWN_MS };
      const step = { label: "Roll back", keys: "u", run: rollBack };
      const isReversible = action.execution === "succeeded" && action.reversible;
      announce(
        outcomeOf(action),
        address.href(`/actions/${action.id}`),
        isReversible ? step : null,
      );
      // The person may have chosen another card while the request ran.
      if (shown.current !== action.id) return;
      if (next) noteStep(next.id, pressed_at);
      address.set({ id: next?.id ?? null });
    },
    /** Goes on to the next card without a decision. */
    leave() {
      if (shown.current === null) return;
      address.set({ id: after(items, shown.current)?.id ?? null });
    },
    rollBack,
    onward() {
      if (shown.current !== null && !decidedHere.has(shown.current)) return;
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
  const word = decisionWord(action);
  return { text: `${word[0]!.toUpperCase()}${word.slice(1)}: ${what}`, tone: "ok" };
}
