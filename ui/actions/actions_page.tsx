import type { RefObject } from "preact";
import { useRef } from "preact/hooks";
import type { Action } from "../../server/actions/schema.ts";
import { ExecutionBadge, RiskBadge, StatusBadge, ToolIcon } from "../parts/badges.tsx";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Empty, Failed, Skeleton } from "../parts/placeholder.tsx";
import { SentenceLine } from "../parts/sentence.tsx";
import { Text } from "../parts/text.tsx";
import { Ago } from "../parts/time.tsx";
import { count, deciderOf } from "../parts/words.ts";
import { useAddress } from "../state/address.ts";
import { useArrival } from "../state/arrival.ts";
import { bind, useKeys } from "../state/keys.ts";
import { useProject } from "../state/project.ts";
import { type Feed, useFeed } from "./feed.ts";
import { FILTERS, Filters, listOf } from "./filters.tsx";

/** The actions of all agents, newest first. */
export function ActionsPage() {
  const { query } = useAddress();
  const project = useProject();
  const cursor = query["cursor"];
  const filters = Object.fromEntries(FILTERS.flatMap((name) => {
    const value = query[name];
    return value ? [[name, value]] : [];
  }));
  const feed = useFeed(project, { ...filters, ...(cursor ? { cursor } : {}), limit: "50" });
  const body = useRef<HTMLDivElement>(null);
  const filter = useRef<HTMLInputElement>(null);
  useArrival(body, feed.items.value !== null);
  useKeys([
    ...bind("Move", ["j", "Select the next action", () => step(body, 1)], [
      "k",
      "Select the previous action",
      () => step(body, -1),
    ]),
    ...bind("Show", ["/", "Filter the table", () => filter.current?.focus()]),
    ...bind("Show", [".", "Show new actions", feed.take]),
  ]);
  return (
    <main class="scroll page-scroll">
      <div class="page-head">
        <h1>Actions</h1>
        {!cursor && <Arrivals feed={feed} />}
      </div>
      <Filters inputRef={filter} />
      <div ref={body}>
        <Rows feed={feed} filtered={Object.keys(filters).length > 0} several={project === null} />
      </div>
      <Paging filters={filters} cursor={cursor} next={feed.next.value} />
    </main>
  );
}

function step(body: RefObject<HTMLDivElement | null>, by: number): void {
  const links = [...body.current?.querySelectorAll<HTMLElement>("a.row-link") ?? []];
  const at = links.indexOf(document.activeElement as HTMLElement);
  links[at < 0 ? 0 : Math.max(0, Math.min(links.length - 1, at + by))]?.focus();
}

function Arrivals({ feed }: { feed: Feed }) {
  const waiting = feed.waiting.value;
  return (
    <p role="status">
      {waiting > 0 && (
        <Button keys="." kind="quiet" onClick={feed.take}>
          Show {count(waiting, "new action")}
        </Button>
      )}
    </p>
  );
}

function Rows(props: { feed: Feed; filtered: boolean; several: boolean }) {
  const items = props.feed.items.value;
  const problem = props.feed.problem.value;
  if (items === null) {
    if (problem === null) return <Skeleton lines={12} />;
    return <Failed title="The actions could not be loaded" problem={problem} />;
  }
  if (items.length === 0) return <NoActions filtered={props.filtered} />;
  return <ActionsTable items={items} several={props.several} />;
}

interface PagingProps {
  filters: Record<string, string>;
  cursor: string | undefined;
  next: string | null;
}

function Paging({ filters, cursor, next }: PagingProps) {
  const address = useAddress();
  if (!cursor && !next) return null;
  return (
    <nav class="paging" aria-label="Pages">
      {cursor && <a class="button button-plain" href={address.href("/actions", filters)}>Newest</a>}
      {next && (
        <a
          class="button button-plain"
          href={address.href("/actions", { ...filters, cursor: next })}
        >
          Older
        </a>
      )}
    </nav>
  );
}

function NoActions({ filtered }: { filtered: boolean }) {
  const address = useAddress();
  if (filtered) {
    return (
      <Empty icon="search" title="No action matches these filters">
        <p>
          <a href={address.href("/actions")}>Show all actions</a>
        </p>
      </Empty>
    );
  }
  return (
    <Empty icon="list" title="No agent has submitted an action yet">
      <p>
        This page lists every file change and command: what it does, who decided, and how it ended.
      </p>
      <p class="quiet">
        <code>gate global-setup</code> connects your agents; <code>gate demo</code>{" "}
        shows an example in a terminal.
      </p>
    </Empty>
  );
}

interface TableProps {
  items: Action[];
  several: boolean;
}

/** A table of actions; each row opens its record. */
function ActionsTable({ items, several }: TableProps) {
  return (
    <table class="table">
      <thead>
        <tr>
          <th scope="col">Action</th>
          <th scope="col">Decision</th>
          <th scope="col" class="cell-outcome">Outcome</th>
          <th scope="col" class="cell-risk">Risk</th>
          <th scope="col" class="cell-agent">Agent</th>
          {several && <th scope="col" class="cell-project">Project</th>}
          <th scope="col" class="cell-by">Decided by</th>
          <th scope="col" class="cell-time">Submitted</th>
        </tr>
      </thead>
      <tbody>
        {items.map((action) => <Row key={action.id} action={action} several={several} />)}
      </tbody>
    </table>
  );
}

function Row({ action, several }: { action: Action; several: boolean }) {
  const address = useAddress();
  // The record's address keeps the filters of the list, so that the way back is known.
  const href = address.href(`/actions/${action.id}`, listOf(address.query));
  // Back in the browser leads to this row.
  const remember = () => address.note({ at: action.id });
  return (
    <tr>
      <td class="cell-what">
        <a class="row-link" href={href} data-id={action.id} onClick={remember}>
          <ToolIcon action={action} />
          <SentenceLine action={action} />
        </a>
      </td>
      <td>
        <StatusBadge action={action} />
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
      <Text as="td" class="cell-agent" value={action.agent} />
      {several && <Text as="td" class="cell-project" value={action.project_id} />}
      <td class="cell-by">
        {action.decided_at && <Text value={deciderOf(action.decided_by)} />}
      </td>
      <td class="cell-time">
        <Ago at={action.created_at} />
      </td>
    </tr>
  );
}
