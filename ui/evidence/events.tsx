import type { AuditEvent } from "../../server/evidence/schema.ts";
import { Text } from "../parts/text.tsx";
import { search, shown, verdict } from "./check.ts";
import type { Content } from "./read.ts";

const STEP = 200;

/** The events, newest first, in steps. */
export function Events({ content, found }: { content: Content; found: number[] }) {
  const result = verdict.value.state === "done" ? verdict.value.result : null;
  const firstBad = result && !result.ok ? result.problem?.seq ?? 1 : Infinity;
  return (
    <section>
      <h2>Events</h2>
      <div class="row">
        <input
          type="search"
          placeholder="Search: names, paths, commands, ids"
          aria-label="Search the events"
          onInput={(event) => {
            search.value = event.currentTarget.value;
            shown.value = STEP;
          }}
        />
        <span class="quiet">{found.length.toLocaleString("en")} found</span>
      </div>
      <ol class="events">
        {found.slice(0, shown.value).map((at) => (
          <Entry key={at} line={content.lines[at]!} isProven={at + 1 < firstBad} />
        ))}
      </ol>
      {found.length > shown.value && (
        <button type="button" onClick={() => shown.value += STEP}>
          Show {Math.min(STEP, found.length - shown.value)} more
        </button>
      )}
    </section>
  );
}

function Entry({ line, isProven }: { line: string; isProven: boolean }) {
  const event = parse(line);
  if (event === null) {
    return <Text as="li" class="unproven" value={line.slice(0, 2_000)} />;
  }
  const { seq, at, type, actor, data } = event;
  const object = data?.command ?? data?.path ?? data?.reason ?? "";
  return (
    <li class={isProven ? "" : "unproven"}>
      <details>
        <summary>
          <span class="seq">{seq}</span>
          <time>{String(at).replace("T", " ").slice(0, 19)}</time>
          <span class="type">{String(type).replace(/^action\./, "").replace("_", " ")}</span>
          <Text
            as="span"
            class="who"
            value={`${actor?.kind === "agent" ? "agent " : ""}${actor?.id}`}
          />
          <code class="object">
            <Text value={String(object).slice(0, 300).replaceAll("\n", " · ")} />
          </code>
        </summary>
        <pre><Text value={JSON.stringify(event, null, 2)} code /></pre>
      </details>
    </li>
  );
}

function parse(line: string): AuditEvent | null {
  try {
    return JSON.parse(line) as AuditEvent;
  } catch {
    return null;
  }
}
