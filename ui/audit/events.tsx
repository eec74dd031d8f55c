import { useSignal } from "@preact/signals";
import type { AuditEventList } from "../../server/audit/schema.ts";
import type { AuditEvent } from "../../server/evidence/schema.ts";
import { Button } from "../parts/button.tsx";
import { Empty, Failed, Skeleton } from "../parts/placeholder.tsx";
import { Text } from "../parts/text.tsx";
import { actorOf, count, exactOf, number } from "../parts/words.ts";
import { useAddress } from "../state/address.ts";
import { api, unwrap } from "../state/client.ts";
import { bind, useKeys } from "../state/keys.ts";
import { useRead } from "../state/read.ts";
import type { Filter } from "./filters.tsx";
import { objectOf, typeWord } from "./words.ts";

interface EventsProps {
  project: string;
  filter: Filter;
}

/** The events, newest first. New ones wait until they are asked for. */
export function Events({ project, filter }: EventsProps) {
  const address = useAddress();
  const cursor = address.query["cursor"];
  const key = JSON.stringify([filter, cursor]);
  const { value, problem } = useRead(key, async () => {
    const query = { ...filter, limit: "50", ...cursor && { cursor } } as Record<string, string>;
    return { key, ...await unwrap<AuditEventList>(api(project).api.audit.events.$get({ query })) };
  }, ({ project_id }) => project_id === project);
  const shown = useSignal<(AuditEventList & { key: string }) | null>(null);
  // Rows keep their places; another filter, another page and an empty list take what is there.
  if (value && (shown.peek()?.key !== value.key || shown.peek()?.items.length === 0)) {
    shown.value = value;
  }
  const take = () => shown.value = value;
  useKeys(bind("Show", [".", "Show new events", take]));
  const page = shown.value;
  if (page === null) {
    return problem === null
      ? <Skeleton lines={10} />
      : <Failed title="The events could not be read" problem={problem} />;
  }
  const newest = page.items[0]?.seq ?? 0;
  const waiting = cursor ? 0 : value?.items.filter(({ seq }) => seq > newest).length ?? 0;
  return (
    <>
      <p role="status" class="audit-new">
        {problem !== null && <Text as="span" class="tone-danger" value={problem} />}
        {waiting > 0 && (
          <Button kind="quiet" keys="." onClick={take}>
            Show {waiting === 50 ? "50 and more new events" : count(waiting, "new event")}
          </Button>
        )}
      </p>
      {page.items.length === 0
        ? <NoEvents filter={filter} />
        : (
          <ul class="audit-events" aria-label="Events">
            {page.items.map((event) => <Row key={event.seq} event={event} />)}
          </ul>
        )}
      <Paging cursor={cursor} next={page.next_cursor} />
    </>
  );
}

function NoEvents({ filter }: { filter: Filter }) {
  const address = useAddress();
  if (Object.keys(filter).length === 0) {
    return (
      <Empty icon="list" title="The log is empty">
        <p>Each step of each action appears here: who did it, when, and the hash that seals it.</p>
      </Empty>
    );
  }
  return (
    <Empty icon="search" title="No event matches these filters">
      <p>
        <a href={address.href("/audit")}>Show every event</a>
      </p>
    </Empty>
  );
}

/** The row cuts the text at its edge long before this; the data below it are whole. */
const LONGEST = 400;

function Row({ event }: { event: AuditEvent }) {
  const { seq, at, actor, hash, prev_hash, data } = event;
  const object = objectOf(event);
  return (
    <li>
      <details>
        <summary>
          <span class="audit-seq quiet">{number(seq)}</span>
          <time class="audit-time" dateTime={at}>{exactOf(at)}</time>
          <span class="audit-type">{typeWord(event)}</span>
          <span class="audit-object code-text">
            {object !== null && <Text value={object.slice(0, LONGEST)} />}
          </span>
          <span class="audit-actor quiet">
            by <Text value={actor.kind === "agent" ? `agent ${actor.id}` : actorOf(actor.id)} />
          </span>
        </summary>
        <dl class="room-facts">
          <About event={event} />
          <dt>Actor</dt>
          <dd>
            {actor.kind} <Text value={actor.id} />
          </dd>
          <dt>Data</dt>
          <dd>
            <pre class="audit-data code-text" tabIndex={0} aria-label={`Data of event ${seq}`}>
              <Text value={JSON.stringify(data, null, 2)} code />
            </pre>
          </dd>
          <dt>Hash</dt>
          <dd class="code-text">{hash}</dd>
          <dt>Hash before</dt>
          <dd class="code-text">{prev_hash}</dd>
        </dl>
      </details>
    </li>
  );
}

/** The action and the session of an event: their pages, and their other events. */
function About({ event: { action_id, session_id } }: { event: AuditEvent }) {
  const address = useAddress();
  return (
    <>
      {action_id !== null && (
        <>
          <dt>Action</dt>
          <dd>
            <a href={address.href(`/actions/${encodeURIComponent(action_id)}`)}>Open the record</a>
            {" · "}
            <a href={address.href("/audit", { action_id })}>Show its events</a>
          </dd>
        </>
      )}
      {session_id !== null && (
        <>
          <dt>Session</dt>
          <dd>
            <a href={address.href(`/sessions/${encodeURIComponent(session_id)}`)}>
              Open the session
            </a>
            {" · "}
            <a href={address.href("/audit", { session_id })}>Show its events</a>
          </dd>
        </>
      )}
    </>
  );
}

function Paging({ cursor, next }: { cursor: string | undefined; next: string | null }) {
  const address = useAddress();
  if (!cursor && !next) return null;
  const { type, window, from, to, session_id, action_id } = address.query;
  const kept = Object.fromEntries(
    Object.entries({ type, window, from, to, session_id, action_id })
      .map(([name, value]) => [name, value ?? null]),
  );
  return (
    <nav class="paging" aria-label="More events">
      {cursor && <a class="button button-plain" href={address.href("/audit", kept)}>Newest</a>}
      {next && (
        <a class="button button-plain" href={address.href("/audit", { ...kept, cursor: next })}>
          Older
        </a>
      )}
    </nav>
  );
}
