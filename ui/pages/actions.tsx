import { useRef } from "preact/hooks";
import { useFeed } from "../actions_feed.ts";
import { ActionsTable } from "../components/actions_table.tsx";
import { Button } from "../components/button.tsx";
import { Empty } from "../components/empty.tsx";
import { Filters } from "../components/filters.tsx";
import { Skeleton } from "../components/skeleton.tsx";
import { useKeys } from "../keys.ts";
import { useProject } from "../project.ts";
import { useAddress } from "../router.ts";
import { count } from "../words.ts";

const FILTERS = ["status", "tool", "agent", "path", "session_id"] as const;

/** Everything that agents asked for, newest first. */
export function ActionsPage() {
  const address = useAddress();
  const project = useProject();
  const cursor = address.query["cursor"];
  const asked = FILTERS.flatMap((name) => {
    const value = address.query[name];
    return value ? [[name, value] as const] : [];
  });
  const feed = useFeed(project, {
    ...Object.fromEntries(asked),
    ...(cursor ? { cursor } : {}),
    limit: "50",
  });
  const body = useRef<HTMLDivElement>(null);
  const filter = useRef<HTMLInputElement>(null);
  const step = (by: number) => {
    const links = [...body.current?.querySelectorAll<HTMLElement>("a.row-link") ?? []];
    const at = links.indexOf(document.activeElement as HTMLElement);
    links[at < 0 ? 0 : Math.max(0, Math.min(links.length - 1, at + by))]?.focus();
  };
  useKeys([
    { keys: "j", label: "Next", group: "Move", repeat: true, run: () => step(1) },
    { keys: "k", label: "Previous", group: "Move", repeat: true, run: () => step(-1) },
    { keys: "/", label: "Filter", group: "Show", run: () => filter.current?.focus() },
    { keys: ".", label: "Show what is new", group: "Show", run: feed.take },
  ]);
  const items = feed.items.value;
  return (
    <main class="page-scroll">
      <div class="page-head">
        <h1>Actions</h1>
        <p class="arrivals" role="status">
          {feed.waiting.value > 0 && !cursor && (
            <Button keys="." kind="quiet" onClick={feed.take}>
              Show {count(feed.waiting.value, "new action")}
            </Button>
          )}
        </p>
      </div>
      <Filters inputRef={filter} />
      <div ref={body}>
        {feed.problem.value && items === null
          ? (
            <Empty icon="alert" title="The actions could not be loaded">
              <p>{feed.problem.value}</p>
            </Empty>
          )
          : items === null
          ? <Skeleton lines={12} />
          : items.length === 0
          ? <NoActions filtered={asked.length > 0} />
          : <ActionsTable items={items} several={project === null} />}
      </div>
      <nav class="paging" aria-label="Pages">
        {cursor && (
          <a class="button button-plain" href={address.href("/actions", without(asked))}>Newest</a>
        )}
        {feed.next.value && (
          <a
            class="button button-plain"
            href={address.href("/actions", { ...without(asked), cursor: feed.next.value })}
          >
            Older
          </a>
        )}
      </nav>
    </main>
  );
}

function without(asked: (readonly [string, string])[]): Record<string, string> {
  return Object.fromEntries(asked);
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
        <code>gate init</code> connects the agents of a project; <code>gate demo</code>{" "}
        plays one in an empty folder.
      </p>
    </Empty>
  );
}
