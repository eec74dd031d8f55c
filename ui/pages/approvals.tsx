import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Action } from "../../server/actions/schema.ts";
import { NothingWaits } from "../components/nothing_waits.tsx";
import { Queue, type QueueItem } from "../components/queue.tsx";
import { QueueHead } from "../components/queue_head.tsx";
import { ReviewPane } from "../components/review_pane.tsx";
import { plain } from "../components/sentence.tsx";
import { announce } from "../components/toast.tsx";
import { useKeys } from "../keys.ts";
import { useProject } from "../project.ts";
import { useAddress } from "../router.ts";
import { decidedHere, detailOf, pending, settle } from "../state.ts";
import { useWide } from "../wide.ts";
import { sentenceOf } from "../words.ts";
import { statusWord } from "../components/badges.tsx";

/** What waits for a person: the queue, and the card of the one that is looked at. */
export function ApprovalsPage() {
  const address = useAddress();
  const { id: asked } = address.query;
  const items = useQueue(asked ?? null);
  const wide = useWide();
  const selected = asked ?? (wide ? items?.[0]?.id ?? null : null);
  const filter = useRef<HTMLInputElement>(null);
  const at = items?.findIndex((item) => item.id === selected) ?? -1;
  const step = (by: number) => {
    const next = neighbour(items ?? [], at, by);
    if (next) address.set({ id: next.id });
  };
  const decided = (action: Action) => {
    const rest = items?.filter((item) => item.id !== action.id) ?? [];
    const next = rest[Math.min(at, rest.length - 1)];
    settle(action);
    announce(outcomeOf(action), address.href(`/actions/${action.id}`));
    address.set({ id: next?.id ?? null });
  };
  useEffect(() => {
    for (const near of [items?.[at + 1], items?.[at + 2]]) if (near) detailOf(near.id);
  }, [selected, items]);
  useKeys([
    { keys: "j", label: "Next", group: "Move", repeat: true, run: () => step(1) },
    { keys: "k", label: "Previous", group: "Move", repeat: true, run: () => step(-1) },
    { keys: "arrowdown", label: "Next", group: "Move", repeat: true, run: () => step(1) },
    { keys: "arrowup", label: "Previous", group: "Move", repeat: true, run: () => step(-1) },
    { keys: "/", label: "Filter", group: "Show", run: () => filter.current?.focus() },
  ]);
  return (
    <main class={`split ${asked ? "split-card" : "split-list"}`}>
      <h1 class="visually-hidden">Approvals</h1>
      <section class="split-left" aria-label="Queue">
        <QueueHead filter={filter} shown={items?.length ?? 0} />
        <Queue
          items={items}
          selected={selected}
          onOpen={(id) => address.set({ id }, { push: true })}
        />
      </section>
      <section class="split-right" aria-label="Card">
        {selected
          ? <ReviewPane key={selected} id={selected} onDecided={decided} />
          : <NothingWaits />}
      </section>
    </main>
  );
}

/** The next card that still waits, in one direction. */
function neighbour(items: QueueItem[], at: number, by: number): QueueItem | undefined {
  const from = at < 0 ? (by > 0 ? 0 : items.length - 1) : at + by;
  for (let next = from; next >= 0 && next < items.length; next += by) {
    if (!items[next]!.gone) return items[next];
  }
  return undefined;
}

// What others decide stays in its place, marked, until the reader moves on: nothing jumps.
function useQueue(selected: string | null): QueueItem[] | null {
  const { query } = useAddress();
  const project = useProject();
  const all = pending.value;
  const view = JSON.stringify([selected, project, query["scope"], query["q"]]);
  const kept = useRef<{ view: string; items: QueueItem[] }>({ view, items: [] });
  return useMemo(() => {
    if (all === null) return null;
    const wanted: QueueItem[] = all.filter((action) =>
      (query["scope"] === "all" || !project || action.project_id === project) &&
      matches(action, query["q"] ?? "")
    );
    const present = new Set(wanted.map((action) => action.id));
    const before = kept.current.view === view ? kept.current.items : [];
    const gone = before.filter((action) => !present.has(action.id) && !decidedHere.has(action.id))
      .map((action) => ({ ...action, gone: true }));
    const items = [...wanted, ...gone].sort((a, b) => a.created_at.localeCompare(b.created_at));
    kept.current = { view, items };
    return items;
  }, [all, view]);
}

function matches(action: Action, filter: string): boolean {
  const text = `${plain(sentenceOf(action))} ${action.agent} ${action.risk.level}`.toLowerCase();
  return filter.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

function outcomeOf(action: Action): { text: string; tone: "ok" | "danger" | "quiet" } {
  const what = plain(sentenceOf(action));
  if (action.execution === "failed") {
    return { text: `Approved, but it failed: ${what}`, tone: "danger" };
  }
  const word = statusWord(action.status);
  return { text: `${word[0]!.toUpperCase()}${word.slice(1)}: ${what}`, tone: "ok" };
}
