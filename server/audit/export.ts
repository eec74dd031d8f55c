import { setTimeout as pause } from "node:timers/promises";
import type { Ledger } from "../db/ledger.ts";
import { CSV_HEADER, toCsvLine } from "./csv.ts";
import type { AuditEvent, AuditExportQuery, Checkpoint } from "./schema.ts";
import { type EventFilter, type EventKey, listCheckpoints, listFiltered } from "./store.ts";

/** An export on its way: pieces of text, and what they are. */
export interface Export {
  format: AuditExportQuery["format"];
  pieces: AsyncGenerator<string>;
}

const PAGE = 200;
const FIRST: EventKey = { at: "", seq: 0 };

/** The events that the filter lets through up to the chain's number `last`, page by page. */
export async function* readPages(
  ledger: Ledger,
  filter: EventFilter,
  { last, page = PAGE }: { last: number; page?: number },
): AsyncGenerator<AuditEvent[]> {
  const begin = filter.from === undefined ? FIRST : { at: filter.from, seq: 0 };
  for (let after: EventKey = begin;;) {
    const events = await listFiltered(ledger, filter, { after, last, limit: page });
    yield events.filter((event) => event.seq <= last && isWanted(event, filter));
    if (events.length < page) return;
    after = events.at(-1)!;
    // Reads of a file run on this thread: everybody else has a turn between two pages.
    await pause(0);
  }
}

/** A project's events in one format; as JSON with what proves them. */
export async function* exportChain(
  ledger: Ledger,
  query: AuditExportQuery,
  checkpoint: Checkpoint,
): AsyncGenerator<string> {
  const pages = readPages(ledger, query, { last: checkpoint.seq });
  if (query.format === "csv") return yield* writeCsv(pages);
  yield* writeJson(pages, async () => ({
    checkpoint,
    checkpoints: (await listCheckpoints(ledger)).filter(({ seq }) => seq <= checkpoint.seq),
  }));
}

/** Lines under a header. */
export async function* writeCsv(pages: AsyncIterable<AuditEvent[]>): AsyncGenerator<string> {
  // First, and alone: whoever waits sees at once that it has begun.
  yield CSV_HEADER;
  for await (const events of pages) yield events.map(toCsvLine).join("");
}

/** `{ events: […], …rest }`. */
export async function* writeJson(
  pages: AsyncIterable<AuditEvent[]>,
  rest: () => Promise<Record<string, unknown>>,
): AsyncGenerator<string> {
  yield '{"events":[';
  let separator = "\n";
  for await (const events of pages) {
    yield events.map((event) => {
      const line = separator + JSON.stringify(event);
      separator = ",\n";
      return line;
    }).join("");
  }
  yield `\n],${JSON.stringify(await rest()).slice(1)}\n`;
}

/** The export as the body of an answer: nothing is read ahead of the client. */
export function toBody({ pieces }: Export): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      for (;;) {
        const { value, done } = await pieces.next();
        if (done) return controller.close();
        if (value === "") continue;
        return controller.enqueue(encoder.encode(value));
      }
    },
    async cancel() {
      await pieces.return(undefined);
    },
  }, { highWaterMark: 0 });
}

/** The headers of an export; always the same name, so that nothing of a project gets into it. */
export function headersOf({ format }: Export): Record<string, string> {
  return {
    "content-type": format === "csv" ? "text/csv; charset=utf-8" : "application/json",
    "content-disposition": `attachment; filename="gate-audit.${format}"`,
  };
}

function isWanted(event: AuditEvent, filter: EventFilter): boolean {
  const { from, to, type, session_id, action_id } = filter;
  return (from === undefined || event.at >= from) && (to === undefined || event.at < to) &&
    (type === undefined || event.type === type) &&
    (session_id === undefined || event.session_id === session_id) &&
    (action_id === undefined || event.action_id === action_id);
}
