import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { ExecutionBadge, RiskBadge, StatusBadge, ToolIcon } from "../parts/badges.tsx";
import { Icon } from "../parts/icon.tsx";
import { drawnRows, useRowWindow } from "../parts/row_window.ts";
import { SentenceLine } from "../parts/sentence.tsx";
import { Text } from "../parts/text.tsx";
import { Ago } from "../parts/time.tsx";
import { deciderOf } from "../parts/words.ts";
import { useAddress } from "../state/address.ts";
import { bind, useKeys } from "../state/keys.ts";
import { nameOfProject } from "../state/project.ts";
import { listOf } from "./filters.tsx";
import type { ActionRows, ListedRow } from "./rows.ts";

interface TableProps {
  rows: ActionRows;
  /** Whether the rows are of several projects. */
  several: boolean;
}

/** A table of actions of any length; only the rows around the window are drawn. */
export function ActionsTable({ rows, several }: TableProps) {
  const body = useRef<HTMLTableSectionElement>(null);
  const known = rows.count.value ?? 0;
  // The rows of the next page have their place before they are loaded.
  const count = known + (rows.hasMore.value ? NEXT_ROWS : 0);
  const window = useRowWindow(body, count);
  const [chosen, setChosen] = useState<number | null>(null);
  rows.version.value;
  useEffect(() => void rows.want(window.first, window.end), [rows, window.first, window.end]);
  useChoice({ body, rows, known, row_height: window.row_height, chosen, setChosen });
  const drawn = drawnRows(window, chosen !== null && chosen < count ? chosen : null);
  return (
    <table class="table actions-table" aria-rowcount={rows.hasMore.value ? -1 : known + 1}>
      <Heads several={several} />
      <tbody ref={body}>
        {drawn.flatMap((row, at) => {
          const before = at === 0 ? -1 : drawn[at - 1]!;
          return [
            <Gap
              key={`gap ${at === 0 ? "start" : row - before > 1 ? "kept" : row}`}
              rows={row - before - 1}
              row_height={window.row_height}
            />,
            <Row
              key={row}
              row={row}
              listed={rows.at(row)}
              cursor={rows.cursorOf(row)}
              isStop={row === (chosen ?? 0)}
              onChoose={setChosen}
              several={several}
            />,
          ];
        })}
        <Gap
          rows={count - 1 - (drawn.at(-1) ?? -1)}
          row_height={window.row_height}
        />
      </tbody>
    </table>
  );
}

const NEXT_ROWS = 30;

interface ChoiceOptions {
  body: RefObject<HTMLElement | null>;
  rows: ActionRows;
  known: number;
  row_height: number;
  chosen: number | null;
  setChosen: (row: number) => void;
}

/** The row that has the focus: keys move it, and the address may name it. */
function useChoice({ body, rows, known, row_height, chosen, setChosen }: ChoiceOptions): void {
  const at = useAddress().query["at"];
  const focus = useRef<number | null>(null);
  const choose = (row: number, block: "center" | "nearest") => {
    focus.current = row;
    setChosen(row);
    scrollTo(body.current, row * row_height, { row_height, block });
  };
  const step = (by: number) => {
    if (known === 0) return;
    const isHere = chosen !== null && body.current?.contains(document.activeElement);
    const next = chosen === null ? 0 : isHere ? chosen + by : chosen;
    choose(Math.max(0, Math.min(known - 1, next)), "nearest");
  };
  const isLoaded = known > 0;
  useEffect(() => {
    const row = at === undefined ? -1 : rows.indexOf(at);
    if (isLoaded && row >= 0) choose(row, "center");
  }, [rows, isLoaded]);
  // The row that had the focus may leave the page, so the next key finds it already moved.
  useLayoutEffect(() => {
    const link = focus.current === null
      ? null
      : body.current?.querySelector<HTMLElement>(`a[data-row="${focus.current}"]`);
    if (!link) return;
    focus.current = null;
    link.focus({ preventScroll: true });
  });
  useKeys(bind(
    "Move",
    ["j", "Select the next action", () => step(1)],
    ["k", "Select the previous action", () => step(-1)],
    ["arrowdown", "Select the next action", () => step(1)],
    ["arrowup", "Select the previous action", () => step(-1)],
  ));
}

/** Brings the row that begins at `top` of the table's body into view. */
function scrollTo(
  body: HTMLElement | null,
  top: number,
  { row_height, block }: { row_height: number; block: "center" | "nearest" },
): void {
  const scroller = body?.closest(".scroll");
  if (!body || !scroller) return;
  const start = body.getBoundingClientRect().top - scroller.getBoundingClientRect().top;
  const y = scroller.scrollTop + start + top;
  const room = scroller.clientHeight;
  // The heads stay at the top of the window.
  const heads = row_height;
  if (block === "center") scroller.scrollTop = y - (room - row_height) / 2;
  else if (y - heads < scroller.scrollTop) scroller.scrollTop = y - heads;
  else if (y + row_height > scroller.scrollTop + room) scroller.scrollTop = y + row_height - room;
}

/** The place of rows that are not drawn. An attribute of SVG sets its height: the page has no styles. */
function Gap(props: { rows: number; row_height: number }) {
  if (props.rows <= 0) return null;
  return (
    <tr class="table-gap" aria-hidden="true">
      <td>
        <svg width="1" height={props.rows * props.row_height} />
      </td>
    </tr>
  );
}

const ORDERS = {
  status: "held ones first",
  execution: "failed ones first",
  risk: "critical ones first",
} as const;

function Heads({ several }: { several: boolean }) {
  return (
    <thead>
      <tr aria-rowindex={1}>
        <th scope="col">Action</th>
        <SortHead name="Decision" order="status" class="cell-decision" />
        <SortHead name="Outcome" order="execution" class="cell-outcome" />
        <SortHead name="Risk" order="risk" class="cell-risk" />
        {several && <th scope="col" class="cell-project">Project</th>}
        <th scope="col" class="cell-agent">Agent</th>
        <th scope="col" class="cell-by">Decided by</th>
        <TimeHead />
      </tr>
    </thead>
  );
}

interface SortHeadProps {
  name: string;
  order: keyof typeof ORDERS;
  class: string;
}

function SortHead({ name, order, class: className }: SortHeadProps) {
  const address = useAddress();
  const isSorted = address.query["order"] === order;
  return (
    <th scope="col" class={className} aria-sort={isSorted ? "other" : undefined}>
      <SortLink
        next={isSorted ? null : order}
        title={isSorted ? "Sort by time" : `Sort by ${name.toLowerCase()}: ${ORDERS[order]}`}
        mark={isSorted ? "down" : null}
      >
        {name}
      </SortLink>
    </th>
  );
}

function TimeHead() {
  const { query } = useAddress();
  const isOldest = query["order"] === "oldest";
  const isTime = isOldest || !query["order"];
  return (
    <th
      scope="col"
      class="cell-time"
      aria-sort={!isTime ? undefined : isOldest ? "ascending" : "descending"}
    >
      <SortLink
        next={isTime && !isOldest ? "oldest" : null}
        title={isTime && !isOldest ? "Sort the oldest first" : "Sort the newest first"}
        mark={!isTime ? null : isOldest ? "up" : "down"}
      >
        Submitted
      </SortLink>
    </th>
  );
}

interface SortLinkProps {
  next: string | null;
  title: string;
  mark: "up" | "down" | null;
  children: string;
}

function SortLink({ next, title, mark, children }: SortLinkProps) {
  const address = useAddress();
  const list = { ...listOf(address.query), cursor: null, order: next };
  return (
    <a class="sort" href={address.href("/actions", list)} title={title}>
      {children}
      {mark && <Icon name="chevron" class={`sort-${mark}`} />}
    </a>
  );
}

interface RowProps {
  row: number;
  listed: ListedRow | undefined;
  cursor: string | null;
  several: boolean;
  /** Whether the Tab key stops at this row. */
  isStop: boolean;
  onChoose: (row: number) => void;
}

function Row({ row, listed, cursor, several, isStop, onChoose }: RowProps) {
  const address = useAddress();
  const list = { ...listOf(address.query), cursor };
  const href = listed && address.href(`/actions/${listed.action.id}`, list);
  // A row that only moves is not drawn again.
  return useMemo(() => {
    if (!listed) {
      return (
        <tr aria-rowindex={row + 2} class="table-loading">
          <td>
            <span class="visually-hidden">Loading</span>
          </td>
        </tr>
      );
    }
    const { action, isGone } = listed;
    // Back in the browser leads to this row.
    const remember = () => address.note({ at: action.id, ...cursor === null ? {} : { cursor } });
    return (
      <tr aria-rowindex={row + 2}>
        <td class="cell-what">
          <a
            class="row-link"
            href={href}
            data-id={action.id}
            data-row={row}
            tabIndex={isStop ? 0 : -1}
            onFocus={() => onChoose(row)}
            onClick={remember}
          >
            <ToolIcon action={action} />
            <SentenceLine action={action} />
          </a>
        </td>
        <td class="cell-decision">
          {isGone
            ? (
              <span class="badge tone-quiet" title="It has changed since this list was loaded">
                <Icon name="help" />changed
              </span>
            )
            : <StatusBadge action={action} />}
          {action.decision.sandbox && (
            <span class="badge tone-quiet">
              <Icon name="lock" />sandbox
            </span>
          )}
        </td>
        <td class="cell-outcome">
          {action.execution !== "none" && <ExecutionBadge execution={action.execution} />}
        </td>
        <td class="cell-risk">
          <RiskBadge risk={action.risk} />
        </td>
        {several && <Text as="td" class="cell-project" value={nameOfProject(action.project_id)} />}
        <Text as="td" class="cell-agent" value={action.agent} />
        <td class="cell-by">
          {action.decided_at && <Text value={deciderOf(action)} />}
        </td>
        <td class="cell-time">
          <Ago at={action.created_at} />
        </td>
      </tr>
    );
  }, [listed, row, href, isStop, several]);
}
