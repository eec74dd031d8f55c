import { setImmediate as pause } from "node:timers/promises";
import type { Ledger } from "../db/ledger.ts";
import { GateError } from "../errors.ts";
import {
  CLOSE,
  EVENTS_OPEN,
  PLACE,
  PROOF_OPEN,
  toBundleLine,
  toJsonLine,
} from "../evidence/bundle.ts";
import type { AuditEvent, Checkpoint, Proof } from "../evidence/schema.ts";
import { readAsset } from "../runtime/assets.ts";
import { CSV_HEADER, toCsvLine } from "./csv.ts";
import type { AuditExportQuery } from "./schema.ts";
import {
  type CsvPage,
  type EventFilter,
  type EventKey,
  isWanted,
  listCheckpoints,
  listFiltered,
  readCsvPage,
} from "./store.ts";

/** An export: its format and its content in pieces. */
export interface Export {
  format: AuditExportQuery["format"];
  pieces: AsyncGenerator<string | Uint8Array>;
}

/** The format; a bundle needs the page that shows and checks it. */
export type Format = "json" | "csv" | { page: string };

const PAGE = 200;
const CSV_PAGE = 500;

function startOf({ from }: EventFilter): EventKey {
  return { at: from ?? "", seq: 0 };
}

/** The events up to number `last` that match the filter, in pages. */
export async function* readPages(
  ledger: Ledger,
  filter: EventFilter,
  { last, page = PAGE }: { last: number; page?: number },
): AsyncGenerator<AuditEvent[]> {
  for (let after = startOf(filter);;) {
    const events = await listFiltered(ledger, filter, { after, last, limit: page });
    yield events.filter((event) => event.seq <= last && isWanted(event, filter));
    if (events.length < page) return;
    after = events.at(-1)!;
    // Reads of a file are synchronous, so other requests run between two pages.
    await pause();
  }
}

/** A project's events in one format; JSON and bundles contain the proof too. */
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

/** CSV that the database writes, in pages. */
async function* exportCsv(
  ledger: Ledger,
  filter: EventFilter,
  last: number,
): AsyncGenerator<string | Uint8Array> {
  // Alone and first, so that the client sees at once that the export has begun.
  yield CSV_HEADER;
  await pause(); // sends the header before the first page is read
  for (let after: EventKey | null = startOf(filter); after !== null;) {
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

/** CSV lines after a header. */
export async function* writeCsv(pages: AsyncIterable<AuditEvent[]>): AsyncGenerator<string> {
  // Alone and first, so that the client sees at once that the export has begun.
  yield CSV_HEADER;
  for await (const events of pages) yield events.map(toCsvLine).join("");
}

/** `{ …proof, events: […] }` with one event on each line; the proof comes first for a streaming reader. */
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

/** The page of a bundle, without its events. @throws GateError `unavailable` */
export async function readBundlePage(): Promise<string> {
  const asset = await readAsset("/evidence.html");
  if (asset) return new TextDecoder().decode(asset.bytes);
  throw new GateError(
    "unavailable",
    "Cannot export a bundle: this gate was built without its page; export as JSON instead",
  );
}

/** Refuses filters, because a part of a chain proves nothing. @throws GateError `invalid` */
export function mustBeWhole(query: AuditExportQuery): void {
  const { format: _format, project: _project, ...filters } = query;
  const [given] = Object.entries(filters).find(([, value]) => value !== undefined) ?? [];
  if (given === undefined) return;
  const message = `Cannot export a bundle: it needs the whole log; remove "${given}"`;
  throw new GateError("invalid", message);
}

/** The page with the proof and the events. */
async function* writeBundle(
  pages: AsyncIterable<AuditEvent[]>,
  proof: Pick<Proof, "checkpoint" | "checkpoints">,
  page: string,
): AsyncGenerator<string> {
  const [before, after] = page.split(PLACE);
  const head: Proof = { format: "gate-audit-bundle", version: 1, ...proof };
  yield `${before}\n${block(PROOF_OPEN, [head])}`;
  for await (const events of pages) {
    if (events.length > 0) yield block(EVENTS_OPEN, events);
  }
  yield after!;
}

function block(open: string, values: readonly unknown[]): string {
  return `${[open, ...values.map(toBundleLine), CLOSE].join("\n")}\n`;
}

/** The export as the body of an answer; it reads no further than the client does. */
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

/** The headers of an export. The file name is constant, so it reveals nothing of a project. */
export function headersOf({ format }: Export): Record<string, string> {
  const { type, name } = KINDS[format];
  return {
    "content-type": type,
    "content-disposition": `attachment; filename="${name}"`,
  };
}
