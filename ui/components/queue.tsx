import { useEffect, useRef } from "preact/hooks";
import { marks } from "../marks.ts";
import { useProject } from "../project.ts";
import type { QueueItem } from "../queue_items.ts";
import { useAddress } from "../router.ts";
import { useWide } from "../wide.ts";
import { loadProblem } from "../state.ts";
import { count, plain, sentenceOf } from "../words.ts";
import { RiskBadge, ToolIcon } from "./badges.tsx";
import { Empty } from "./empty.tsx";
import { Icon } from "./icon.tsx";
import { NothingWaits } from "./nothing_waits.tsx";
import { SentenceLine } from "./sentence.tsx";
import { Skeleton } from "./skeleton.tsx";
import { Text } from "./text.tsx";
import { Ago } from "./time.tsx";
import { speak } from "./toast.tsx";

interface QueueProps {
  items: QueueItem[] | null;
  selected: string | null;
}

// More than anyone decides in one sitting; the rest comes up as these are decided.
const SHOWN = 500;

/** What waits, the longest waiting first, so that what arrives stands at the end. */
export function Queue({ items, selected }: QueueProps) {
  const list = useRef<HTMLUListElement>(null);
  const fresh = useArrivals(items);
  useEffect(() => {
    list.current?.querySelector('[aria-current="true"]')?.scrollIntoView({ block: "nearest" });
  }, [selected]);
  if (items === null) return loadProblem.value ? <Problem /> : <Skeleton lines={6} />;
  if (items.length === 0) return <NoneHere />;
  const shown = items.slice(0, SHOWN);
  return (
    <ul class="queue" ref={list}>
      {shown.map((item) => (
        <Row
          key={item.id}
          item={item}
          selected={item.id === selected}
          fresh={fresh.has(item.id)}
        />
      ))}
      {items.length > SHOWN && (
        <li class="queue-more quiet">
          {count(items.length - SHOWN, "more card")} after these; decide or filter to reach them.
        </li>
      )}
    </ul>
  );
}

interface RowProps {
  item: QueueItem;
  selected: boolean;
  fresh: boolean;
}

function Row({ item, selected, fresh }: RowProps) {
  const address = useAddress();
  const project = useProject();
  const foreign = project !== item.project_id || address.query["scope"] === "all";
  const marked = marks.value.has(item.id);
  const classes = `queue-row ${item.gone ? "queue-gone" : ""} ${fresh ? "queue-fresh" : ""}`;
  return (
    <li>
      <button
        type="button"
        class={classes}
        aria-current={selected ? "true" : undefined}
        onClick={() => address.set({ id: item.id }, { push: true })}
      >
        {marked ? <Icon name="check" class="tool-icon marked" /> : <ToolIcon action={item} />}
        <span class="queue-words">
          <SentenceLine action={item} />
          <span class="queue-meta">
            <span>
              <Text value={item.agent} />
            </span>
            {foreign && (
              <span>
                <Text value={item.project_id} />
              </span>
            )}
            {item.gone ? <span>decided elsewhere</span> : <Ago at={item.created_at} />}
            {item.conflicts.length > 0 && <span class="contested">conflict</span>}
            {fresh && <span class="fresh">new</span>}
            {marked && <span class="fresh">marked</span>}
          </span>
        </span>
        <RiskBadge risk={item.risk} />
      </button>
    </li>
  );
}

function NoneHere() {
  const address = useAddress();
  const isWide = useWide();
  if (!address.query["q"] && !isWide) return <NothingWaits />;
  if (!address.query["q"]) return <p class="queue-none quiet">The queue is empty.</p>;
  return (
    <p class="queue-none quiet">
      Nothing that waits matches the filter.{" "}
      <button type="button" class="link" onClick={() => address.set({ q: null })}>
        Show all
      </button>
    </p>
  );
}

function Problem() {
  return (
    <Empty icon="alert" title="The queue could not be loaded">
      <p>{loadProblem.value}</p>
    </Empty>
  );
}

// What came since the page was opened, until it is looked at again.
function useArrivals(items: QueueItem[] | null): ReadonlySet<string> {
  const known = useRef<Set<string> | null>(null);
  const fresh = useRef(new Set<string>());
  if (items && !known.current) known.current = new Set(items.map((item) => item.id));
  const arrived = items?.filter((item) => !known.current!.has(item.id)) ?? [];
  useEffect(() => {
    if (arrived.length === 0) return;
    for (const item of arrived) known.current!.add(item.id);
    const first = arrived[0]!;
    speak(
      arrived.length === 1
        ? `New: ${plain(sentenceOf(first))}`
        : `${arrived.length} new cards, the first: ${plain(sentenceOf(first))}`,
    );
  });
  for (const item of arrived) fresh.current.add(item.id);
  return fresh.current;
}
