import { setImmediate as pause } from "node:timers/promises";
import type { Ledger } from "../db/ledger.ts";
import { toJsonLine } from "../evidence/bundle.ts";
import { writeBundle } from "./bundle.ts";
import { CSV_HEADER, toCsvLine } from "./csv/lines.ts";
import type { AuditExportQuery } from "./schema.ts";
import type { AuditEvent, Checkpoint } from "../evidence/schema.ts";
import {
  type CsvPage,
  type EventFilter,
  type EventKey,
  listCheckpoints,
  listFiltered,
  readCsvPage,
} from "./store.ts";

/** An export on its way: pieces of text, and what they are. */
export interface Export {
  format: AuditExportQuery["format"];
  pieces: AsyncGenerator<string | Uint8Array>;
}

/** How it is written; a bundle brings the page along that shows and checks it. */
export type Format = "json" | "csv" | { page: string };

const PAGE = 200;
const CSV_PAGE = 500;

function beginOf({ from }: EventFilter): EventKey {
  return { at: from ?? "", seq: 0 };
}

/** The events that the filter lets through up to the chain's number `last`, page by page. */
export async function* readPages(
  ledger: Ledger,
  filter: EventFilter,
  { last, page = PAGE }: { last: number; page?: number },
): AsyncGenerator<AuditEvent[]> {
  for (let after = beginOf(filter);;) {
    const events = await listFiltered(ledger, filter, { after, last, limit: page });
    yield events.filter((event) => event.seq <= last && isWanted(event, filter));
    if (events.length < page) return;
    after = events.at(-1)!;
    // Reads of a file run on this thread: everybody else has a turn between two pages.
    await pause();
  }
}

/** A project's events in one format; but for CSV with what proves them. */
export async function* exportChain(
  ledger: Ledger,
  query: Omit<AuditExportQuery, "format">,
  { checkpoint, format }: { checkpoint: Checkpoint; format: Format },
): AsyncGenerator<string | Uint8Array> {
  const { seq: last } = checkpoint;
  if (format === "csv") return yield* exportCsv(ledger, query, last);
  const pages = readPages(ledger, query, { last });
  const kept = (await listCheckpoints(ledger)).filter(({ seq }) => seq <= last);
  const proof = { checkpoint, checkpoints: kept };
  if (format === "json") yield* writeJson(pages, proof);
  else yield* writeBundle(pages, proof, format.page);
}

/** Written by the database, page by page. */
async function* exportCsv(
  ledger: Ledger,
  filter: EventFilter,
  last: number,
): AsyncGenerator<string | Uint8Array> {
  // First, and alone: whoever waits sees at once that it has begun.
  yield CSV_HEADER;
  await pause(); // else it would leave after the first page has been read
  for (let after: EventKey | null = beginOf(filter); after !== null;) {
    const page = { after, last, limit: CSV_PAGE };
    const { text, end }: CsvPage = await readCsvPage(ledger, filter, page);
    if (text !== null) yield text;
    else {
      const events = await listFiltered(ledger, filter, page);
      yield events.filter((event) => isWanted(event, filter) && event.seq <= last)
        .map(toCsvLine).join("");
    }
    after = end;
    await pause();
  }
}

/** Lines under a header. */
export async function* writeCsv(pages: AsyncIterable<AuditEvent[]>): AsyncGenerator<string> {
  // First, and alone: whoever waits sees at once that it has begun.
  yield CSV_HEADER;
  for await (const events of pages) yield events.map(toCsvLine).join("");
}

/** `{ …proof, events: […] }`, an event a line; the proof comes first, for whoever reads along. */
export async function* writeJson(
  pages: AsyncIterable<AuditEvent[]>,
  proof: Record<string, unknown>,
): AsyncGenerator<string> {
  yield `${JSON.stringify(proof).slice(0, -1)},"events":[`;
  let separator = "\n";
  for await (const events of pages) {
    yield events.map((event) => {
      const line = separator + toJsonLine(event);
      separator = ",\n";
      return line;
    }).join("");
  }
  yield "\n]}\n";
}

/** The export as the body of an answer: nothing is read ahead of the client. */
export function toBody({ pieces }: Export): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      for (;;) {
        const { value, done } = await pieces.next();
        if (done) return controller.close();
        if (value.length === 0) continue;
        return controller.enqueue(typeof value === "string" ? encoder.encode(value) : value);
      }
    },
    async cancel() {
      await pieces.return(undefined);
    },
  }, { highWaterMark: 0 });
}

const KINDS: Record<AuditExportQuery["format"], { type: string; name: string }> = {
  json: { type: "application/json", name: "gate-audit.json" },
  csv: { type: "text/csv; charset=utf-8", name: "gate-audit.csv" },
  bundle: { type: "text/html; charset=utf-8", name: "gate-audit.html" },
};

/** The headers of an export; always the same name, so that nothing of a project gets into it. */
export function headersOf({ format }: Export): Record<string, string> {
  const { type, name } = KINDS[format];
  return {
    "content-type": type,
    "content-disposition": `attachment; filename="${name}"`,
  };
}

function isWanted(event: AuditEvent, filter: EventFilter): boolean {
  const { from, to, type, session_id, action_id } = filter;
  return (from === undefined || event.at >= from) && (to === undefined || event.at < to) &&
    (type === undefined || event.type === type) &&
    (session_id === undefined || event.session_id === session_id) &&
    (action_id === undefined || event.action_id === action_id);
}
