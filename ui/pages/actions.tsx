import type { RefObject } from "preact";
import { useRef } from "preact/hooks";
import { type Feed, useFeed } from "../actions_feed.ts";
import { ActionsTable } from "../components/actions_table.tsx";
import { Button } from "../components/button.tsx";
import { Empty } from "../components/empty.tsx";
import { Filters } from "../components/filters.tsx";
import { Skeleton } from "../components/skeleton.tsx";
import { bind, useKeys } from "../keys.ts";
import { useProject } from "../project.ts";
import { useAddress } from "../router.ts";
import { count } from "../words.ts";

const FILTERS = ["q", "status", "tool", "agent", "path", "session_id"] as const;

/** Everything that agents asked for, newest first. */
export function ActionsPage() {
  const { query } = useAddress();
  const project = useProject();
  const cursor = query["cursor"];
  const asked = Object.fromEntries(FILTERS.flatMap((name) => {
    const value = query[name];
    return value ? [[name, value]] : [];
  }));
  const feed = useFeed(project, { ...asked, ...(cursor ? { cursor } : {}), limit: "50" });
  const body = useRef<HTMLDivElement>(null);
  const filter = useRef<HTMLInputElement>(null);
  useKeys([
    ...bind("Move", ["j", "Next", () => step(body, 1)], ["k", "Previous", () => step(body, -1)]),
    ...bind("Show", ["/", "Filter", () => filter.current?.focus()]),
    ...bind("Show", [".", "Show what is new", feed.take]),
  ]);
  return (
    <main class="page-scroll">
      <div class="page-head">
        <h1>Actions</h1>
        {!cursor && <Arrivals feed={feed} />}
      </div>
      <Filters inputRef={filter} />
      <div ref={body}>
        <Rows feed={feed} filtered={Object.keys(asked).length > 0} several={project === null} />
      </div>
      <Paging asked={asked} cursor={cursor} next={feed.next.value} />
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
    <p class="arrivals" role="status">
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
  if (items === null && problem === null) return <Skeleton lines={12} />;
  if (items === null) {
    return (
      <Empty icon="alert" title="The actions could not be loaded">
        <p>{problem}</p>
      </Empty>
    );
  }
  if (items.length === 0) return <NoActions filtered={props.filtered} />;
  return <ActionsTable items={items} several={props.several} />;
}

interface PagingProps {
  asked: Record<string, string>;
  cursor: string | undefined;
  next: string | null;
}

function Paging({ asked, cursor, next }: PagingProps) {
  const address = useAddress();
  if (!cursor && !next) return null;
  return (
    <nav class="paging" aria-label="Pages">
      {cursor && <a class="button button-plain" href={address.href("/actions", asked)}>Newest</a>}
      {next && (
        <a class="button button-plain" href={address.href("/actions", { ...asked, cursor: next })}>
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
    <Empty icon="list" title="No agent has asked for anything yet">
      <p>
        Each write and each command that an agent asks for is kept here: what it was, who decided,
        what came of it.
      </p>
      <p class="quiet">
        <code>gate global-setup</code> connects your agents; <code>gate demo</code>{" "}
        plays one in a terminal.
      </p>
    </Empty>
  );
}
