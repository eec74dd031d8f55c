import { useRef } from "preact/hooks";
import { Button } from "../parts/button.tsx";
import { Empty, Failed, Skeleton } from "../parts/placeholder.tsx";
import { count } from "../parts/words.ts";
import { useAddress } from "../state/address.ts";
import { bind, useKeys } from "../state/keys.ts";
import { useProject } from "../state/project.ts";
import { ActionsTable } from "./actions_table.tsx";
import { useFeed } from "./feed.ts";
import { FILTERS, Filters, listOf } from "./filters.tsx";
import type { ActionRows } from "./rows.ts";
import { SavedFilters } from "./saved_filters.tsx";

/** The actions of all agents, newest first unless the address names another order. */
export function ActionsPage() {
  const address = useAddress();
  const { query } = address;
  const project = useProject();
  const filters = Object.fromEntries(FILTERS.flatMap((name) => {
    const value = query[name];
    return value ? [[name, value]] : [];
  }));
  const order = query["order"] ? { order: query["order"] } : {};
  const rows = useFeed(project, { ...filters, ...order }, query["cursor"]);
  const page = useRef<HTMLElement>(null);
  const filter = useRef<HTMLInputElement>(null);
  const take = () => {
    rows.take();
    if (page.current) page.current.scrollTop = 0;
  };
  useKeys(bind(
    "Show",
    ["/", "Filter the table", () => filter.current?.focus()],
    [".", "Show new actions", take],
  ));
  return (
    <main class="scroll page-scroll" ref={page}>
      <div class="page-head">
        <h1>Actions</h1>
        <Arrivals rows={rows} take={take} />
      </div>
      <Filters inputRef={filter} />
      <SavedFilters />
      <Rows
        rows={rows}
        filtered={Object.keys(filters).length > 0}
        several={project === null}
      />
    </main>
  );
}

function Arrivals({ rows, take }: { rows: ActionRows; take: () => void }) {
  const address = useAddress();
  const waiting = rows.waiting.value;
  if (rows.start !== null) {
    return (
      <a class="button button-plain" href={address.href("/actions", newest(address.query))}>
        Show the newest
      </a>
    );
  }
  return (
    <p role="status">
      {waiting > 0 && (
        <Button keys="." kind="quiet" onClick={take}>
          Show {count(waiting, "new action")}
        </Button>
      )}
    </p>
  );
}

function newest(query: Record<string, string | undefined>): Record<string, string | null> {
  return { ...listOf(query), cursor: null };
}

function Rows(props: { rows: ActionRows; filtered: boolean; several: boolean }) {
  const known = props.rows.count.value;
  const problem = props.rows.problem.value;
  if (known === null) {
    if (problem === null) return <Skeleton lines={12} />;
    return <Failed title="The actions could not be loaded" problem={problem} />;
  }
  if (known === 0) return <NoActions filtered={props.filtered} />;
  return <ActionsTable key={props.rows.key} rows={props.rows} several={props.several} />;
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
