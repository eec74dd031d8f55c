import { Fragment, type JSX, type RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { RiskBadge, ToolIcon } from "../parts/badges.tsx";
import { Icon } from "../parts/icon.tsx";
import { Empty, Failed, Skeleton, useLazy } from "../parts/placeholder.tsx";
import { SentenceLine } from "../parts/sentence.tsx";
import { Text } from "../parts/text.tsx";
import { Ago, Until } from "../parts/time.tsx";
import { speak } from "../parts/toast.tsx";
import { count, number, plain, sentenceOf } from "../parts/words.ts";
import { useAddress } from "../state/address.ts";
import { tellDrawn } from "../state/code.ts";
import { connection } from "../state/events.ts";
import { daemon, loadProblem, pending, unread } from "../state/live.ts";
import { nameOfProject, useHeldCount, useProject, useProjects } from "../state/project.ts";
import { marks } from "./marks.ts";
import { type QueueItem, useArrangement, useWide } from "./queue_items.ts";

interface QueueProps {
  items: QueueItem[] | null;
  selected: string | null;
}

// Further cards appear as these are decided.
const SHOWN = 500;

/**
 * The held actions in the chosen order; new ones come to the end. The list is one stop of the Tab
 * key: the arrow keys move in it.
 */
export function Queue({ items, selected }: QueueProps) {
  const list = useRef<HTMLUListElement>(null);
  const fresh = useArrivals(items);
  const { sort, bySession } = useArrangement();
  useSelectedInView(list, selected, items !== null && items.length > 0);
  const keepFocus = useFocusFollowing(list, selected);
  if (items === null) {
    if (loadProblem.value === null) return <Skeleton lines={6} />;
    return <Failed title="The queue could not be loaded" problem={loadProblem.value} />;
  }
  if (items.length === 0) return <NoneHere />;
  // The selected row is always among those shown.
  const at = items.findIndex(({ id }) => id === selected);
  const first = Math.floor(Math.max(0, at) / SHOWN) * SHOWN;
  const shown = items.slice(first, first + SHOWN);
  const rest = items.length + unread.value - first - shown.length;
  const groupOf = (of: QueueItem) => groupIn(of, { sort, bySession });
  // Without a selected row the first one is the stop of the Tab key.
  const stop = at < 0 ? shown[0]?.id : selected;
  return (
    <ul class="scroll queue" ref={list} {...keepFocus}>
      {first > 0 && <li class="queue-more quiet">{count(first, "older action")} above.</li>}
      {shown.map((item, i) => (
        <Fragment key={item.id}>
          {groupOf(item) !== (i > 0 ? groupOf(shown[i - 1]!) : null) && (
            <GroupHead item={item} items={shown.slice(i)} groupOf={groupOf} />
          )}
          <Row
            item={item}
            selected={item.id === selected}
            isStop={item.id === stop}
            fresh={fresh.has(item.id)}
          />
        </Fragment>
      ))}
      {rest > 0 && (
        <li class="queue-more quiet">
          {count(rest, "more action")} held. Review or filter to see them.
        </li>
      )}
    </ul>
  );
}

/** The group of an item: its session, its project or the snoozed ones; null without a heading. */
function groupIn(
  { asleep, session_id, project_id }: QueueItem,
  { sort, bySession }: ReturnType<typeof useArrangement>,
): string | null {
  if (asleep) return "asleep";
  if (bySession) return session_id;
  return sort === "project" ? project_id : null;
}

interface GroupProps {
  item: QueueItem;
  /** The items from this one on. */
  items: QueueItem[];
  groupOf: (item: QueueItem) => string | null;
}

function GroupHead({ item, items, groupOf }: GroupProps) {
  const group = groupOf(item);
  if (group === null) return null;
  const end = items.findIndex((other) => groupOf(other) !== group);
  const held = count(end < 0 ? items.length : end, "action");
  const isSession = !item.asleep && group === item.session_id;
  return (
    <li class="queue-group small quiet">
      {item.asleep
        ? "Snoozed"
        : isSession
        ? <Session action={item} />
        : <Text as="span" value={nameOfProject(item.project_id)} />}
      <span>{held}</span>
    </li>
  );
}

const loadSession = () => import("./session_group.tsx");

/** Loaded only for groups by session. */
function Session({ action }: { action: QueueItem }) {
  const { value } = useLazy(loadSession);
  if (value) return <value.SessionGroup action={action} />;
  return <Text as="span" value={action.agent} />;
}

/** Moves the focus with the selection while a row has it, also when that row goes away. */
function useFocusFollowing(list: RefObject<HTMLUListElement | null>, selected: string | null) {
  const isInside = useRef(false);
  useLayoutEffect(() => {
    const { activeElement } = document;
    const isFree = activeElement === document.body || list.current?.contains(activeElement);
    if (!isInside.current || !isFree) return;
    list.current?.querySelector<HTMLElement>('[aria-current="true"]')
      ?.focus({ preventScroll: true });
  }, [selected]);
  return {
    onFocusIn: () => isInside.current = true,
    // A row that is removed has no next target: then the list keeps the focus.
    onFocusOut: ({ relatedTarget }: FocusEvent) => {
      if (relatedTarget !== null) isInside.current = list.current!.contains(relatedTarget as Node);
    },
  };
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
  isStop: boolean;
  fresh: boolean;
}

function Row({ item, selected, isStop, fresh }: RowProps) {
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
        tabIndex={isStop ? 0 : -1}
        aria-current={selected ? "true" : undefined}
        onClick={() => address.set({ id: item.id }, { push: true })}
      >
        {marked ? <Icon name="check" class="tool-icon marked" /> : <ToolIcon action={item} />}
        <span class="list-row-words">
          <span class="queue-line">
            <SentenceLine action={item} />
            <RiskBadge risk={item.risk} />
          </span>
          <span class="queue-line">
            <span class="dotted quiet small queue-meta">
              <Text as="span" value={item.agent} />
              {foreign && <Text as="span" value={nameOfProject(item.project_id)} />}
              <When item={item} />
              {item.conflicts.length > 0 && <Contested />}
              {fresh && <span class="fresh">new</span>}
              {marked && <span class="fresh">marked</span>}
            </span>
            <Lines lines={item.lines} />
          </span>
        </span>
      </button>
    </li>
  );
}

/** Other sessions change the same files; a narrow list has no room for the word. */
function Contested() {
  return (
    <span class="contested" title="Another session changes the same files">
      <Icon name="alert" />
      <span class="contested-word">conflict</span>
    </span>
  );
}

/** How long the card waits; of a snoozed one how long it still can. */
function When({ item }: { item: QueueItem }) {
  if (item.gone) return <span>decided elsewhere</span>;
  if (!item.asleep || item.expires_at === null) return <Ago at={item.created_at} />;
  return <Until at={item.expires_at} said />;
}

/** The changed lines; nothing where they are not counted, as of a command. */
function Lines({ lines }: Pick<QueueItem, "lines">) {
  if (lines === null) return null;
  const title = `${count(lines.added, "line")} added, ${number(lines.removed)} removed`;
  return (
    <span class="queue-lines small" title={title}>
      {(lines.added > 0 || lines.removed === 0) && (
        <span class="figure-add">+{number(lines.added)}</span>
      )}
      {lines.removed > 0 && <span class="figure-del">−{number(lines.removed)}</span>}
    </span>
  );
}

function NoneHere() {
  const address = useAddress();
  const isWide = useWide();
  if (!address.query["q"] && !isWide) return <NothingWaits />;
  // The card's place says that the queue is not known.
  if (connection.value === "offline") return null;
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
  const isPart = useRef(true);
  if (items && isPart.current) {
    known.current = new Set(items.map((item) => item.id));
    isPart.current = unread.value > 0;
  }
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
  const project = useProject();
  const isAll = useAddress().query["scope"] === "all";
  const held = useHeldCount(isAll ? null : project);
  const isNew = useProjects().length <= FEW_PROJECTS;
  const isNothing = pending.value !== null && held === 0 && daemon.value !== null;
  useEffect(() => {
    if (isNothing) tellDrawn();
  }, [isNothing]);
  if (connection.value === "offline") return <NotAvailable />;
  if (!isNothing) return null;
  const nothing = (
    <Empty icon="check" title="No action is held">
      <p>
        When the policy requires a person’s approval, the action appears here, and the agent waits
        for your decision.
      </p>
    </Empty>
  );
  return isNew ? <Beginning>{nothing}</Beginning> : nothing;
}

function Beginning({ children }: { children: JSX.Element }) {
  const { value: FirstSteps, failed } = useLazy(loadFirstSteps);
  if (failed) return children;
  return FirstSteps && <FirstSteps>{children}</FirstSteps>;
}

/** Somebody with more projects needs no first steps. */
const FEW_PROJECTS = 3;

const loadFirstSteps = async () => (await import("./first_steps.tsx")).FirstSteps;
