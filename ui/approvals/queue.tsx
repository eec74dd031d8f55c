import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { RiskBadge, ToolIcon } from "../parts/badges.tsx";
import { Button, Key, Segmented } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Empty, Failed, Skeleton, useLazy } from "../parts/placeholder.tsx";
import { SentenceLine } from "../parts/sentence.tsx";
import { Text } from "../parts/text.tsx";
import { Ago } from "../parts/time.tsx";
import { speak } from "../parts/toast.tsx";
import { count, number, plain, sentenceOf } from "../parts/words.ts";
import { useAddress } from "../state/address.ts";
import { connection } from "../state/events.ts";
import { daemon, loadProblem, pendingByProject } from "../state/live.ts";
import { nameOfProject, usePending, useProject, useProjects } from "../state/project.ts";
import { marks } from "./marks.ts";
import { type QueueItem, useWide } from "./queue_items.ts";

interface QueueProps {
  items: QueueItem[] | null;
  selected: string | null;
}

// Further cards appear as these are decided.
const SHOWN = 500;

/** The held actions, oldest first, so that new ones appear at the end. */
export function Queue({ items, selected }: QueueProps) {
  const list = useRef<HTMLUListElement>(null);
  const fresh = useArrivals(items);
  useSelectedInView(list, selected, items !== null && items.length > 0);
  if (items === null) {
    if (loadProblem.value === null) return <Skeleton lines={6} />;
    return <Failed title="The queue could not be loaded" problem={loadProblem.value} />;
  }
  if (items.length === 0) return <NoneHere />;
  // The selected row is always among those shown.
  const at = items.findIndex(({ id }) => id === selected);
  const first = Math.floor(Math.max(0, at) / SHOWN) * SHOWN;
  const shown = items.slice(first, first + SHOWN);
  const rest = items.length - first - shown.length;
  return (
    <ul class="scroll queue" ref={list}>
      {first > 0 && <li class="queue-more quiet">{count(first, "older action")} above.</li>}
      {shown.map((item) => (
        <Row
          key={item.id}
          item={item}
          selected={item.id === selected}
          fresh={fresh.has(item.id)}
        />
      ))}
      {rest > 0 && (
        <li class="queue-more quiet">
          {count(rest, "more action")} held. Review or filter to see them.
        </li>
      )}
    </ul>
  );
}

/** Keeps the selected row in view, also when a notice above the list appears later. */
function useSelectedInView(
  list: RefObject<HTMLUListElement | null>,
  selected: string | null,
  isThere: boolean,
): void {
  useEffect(() => {
    const show = () =>
      list.current?.querySelector('[aria-current="true"]')?.scrollIntoView({ block: "nearest" });
    show();
    const observer = new ResizeObserver(show);
    if (list.current) observer.observe(list.current);
    return () => observer.disconnect();
  }, [selected, isThere]);
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
  const classes = `list-row queue-row ${item.gone ? "queue-gone" : ""}`;
  return (
    <li>
      <button
        type="button"
        class={classes}
        aria-current={selected ? "true" : undefined}
        onClick={() => address.set({ id: item.id }, { push: true })}
      >
        {marked ? <Icon name="check" class="tool-icon marked" /> : <ToolIcon action={item} />}
        <span class="list-row-words">
          <SentenceLine action={item} />
          <span class="dotted quiet small queue-meta">
            <Text as="span" value={item.agent} />
            {foreign && <Text as="span" value={nameOfProject(item.project_id)} />}
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
      No held action matches the filter.{" "}
      <button type="button" class="link" onClick={() => address.set({ q: null })}>
        Show all
      </button>
    </p>
  );
}

// The actions that arrived after the page was opened.
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
        : `${arrived.length} new actions. First: ${plain(sentenceOf(first))}`,
    );
  });
  for (const item of arrived) fresh.current.add(item.id);
  return fresh.current;
}

interface HeadProps {
  filter: RefObject<HTMLInputElement | null>;
  items: QueueItem[];
  onMarked: () => void;
  onRemembered: () => void;
}

const SCOPES = [
  { value: "project", label: "This project" },
  { value: "all", label: "All projects" },
] as const;

/** The title of the queue, its scope and its filter. */
export function QueueHead({ filter, items, onMarked, onRemembered }: HeadProps) {
  const address = useAddress();
  const project = useProject();
  const scope = address.query["scope"] === "all" ? "all" : "project";
  const pending = usePending();
  const several = useProjects().length > 1 && project !== null;
  const shown = items.length;
  const total = scope === "all" || !project
    ? pending?.length ?? 0
    : pendingByProject.value.get(project) ?? 0;
  return (
    <header class="queue-head">
      <div class="queue-title">
        <h2>Approvals</h2>
        {pending !== null && (
          <span class="quiet">
            {shown === total ? `${number(total)} held` : `${number(shown)} of ${number(total)}`}
          </span>
        )}
        <span class="queue-remembered">
          <Button kind="quiet" keys="shift+m" onClick={onRemembered}>Show remembered</Button>
        </span>
      </div>
      {several && (
        <Segmented
          label="Projects"
          value={scope}
          options={SCOPES}
          onChange={(value) => address.set({ scope: value === "all" ? "all" : null })}
        />
      )}
      <FilterField filter={filter} />
      <Marked items={items} onMarked={onMarked} />
    </header>
  );
}

/** Opens the decision about the marked cards of the list, and says how many others are marked. */
function Marked({ items, onMarked }: { items: QueueItem[]; onMarked: () => void }) {
  const listed = items.filter(({ id, gone }) => !gone && marks.value.has(id)).length;
  const held = usePending()?.filter(({ id }) => marks.value.has(id)).length ?? 0;
  const others = Math.max(0, held - listed);
  return (
    <>
      {listed > 0 && (
        <Button kind="primary" icon="check" keys="shift+a" onClick={onMarked}>
          Decide on {listed} marked
        </Button>
      )}
      {others > 0 && (
        <p class="quiet small">
          {count(others, "marked action")} {others === 1 ? "is" : "are"} not in the list.
        </p>
      )}
    </>
  );
}

function FilterField({ filter }: Pick<HeadProps, "filter">) {
  const address = useAddress();
  return (
    <label class="field">
      <Icon name="search" />
      <span class="visually-hidden">Filter the queue</span>
      <input
        ref={filter}
        type="search"
        placeholder="Filter by path, command, agent"
        value={address.query["q"] ?? ""}
        onInput={(event) => address.set({ q: event.currentTarget.value })}
        onKeyDown={(event) => {
          if (event.key === "Escape" || event.key === "Enter") event.currentTarget.blur();
        }}
      />
      <Key keys="/" />
    </label>
  );
}

// Without a connection, "No action is held" might be wrong.
function NotAvailable() {
  return (
    <Empty icon="alert" title="The queue is not available">
      <p>
        The daemon does not answer. Run <code>gate daemon start</code>{"  "}
        to start it. Until then every action is refused.
      </p>
    </Empty>
  );
}

/** The empty state of the queue; at first it shows how to come to a held action. */
export function NothingWaits() {
  const pending = usePending();
  const isNew = useProjects().length <= FEW_PROJECTS;
  const { value: FirstSteps, failed } = useLazy(loadFirstSteps);
  if (connection.value === "offline") return <NotAvailable />;
  if (pending === null || pending.length > 0 || daemon.value === null) return null;
  const nothing = (
    <Empty icon="check" title="No action is held">
      <p>
        When the policy requires a person’s approval, the action appears here, and the agent waits
        for your decision.
      </p>
    </Empty>
  );
  if (!isNew || failed) return nothing;
  return FirstSteps && <FirstSteps>{nothing}</FirstSteps>;
}

/** Somebody with more projects needs no first steps. */
const FEW_PROJECTS = 3;

const loadFirstSteps = async () => (await import("./first_steps.tsx")).FirstSteps;
