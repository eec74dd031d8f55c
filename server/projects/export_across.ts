import { readPages, writeCsv, writeJson } from "../audit/export.ts";
import type { AuditExportQuery } from "../audit/schema.ts";
import type { AuditEvent, Checkpoint } from "../evidence/schema.ts";
import type { Project } from "./project.ts";
import type { ProjectSet } from "./across.ts";

/** About the number of events in memory at once. */
const MAX_EVENTS = 4_000;

/** The events of one project, with the next ones in memory. */
interface Source {
  pages: AsyncGenerator<AuditEvent[]>;
  next: AuditEvent[];
  isOver: boolean;
}

/** The events of all projects in order of time. Memory use does not depend on their number. */
export async function exportAcross(
  projects: ProjectSet,
  query: AuditExportQuery,
): Promise<AsyncGenerator<string>> {
  const open: { project: Project; checkpoint: Checkpoint }[] = [];
  for (const project of await projects.listSince(query.from ?? "")) {
    open.push({ project, checkpoint: await project.audit.checkpoint() });
  }
  const page = Math.max(10, Math.min(200, Math.ceil(MAX_EVENTS / Math.max(1, open.length))));
  // A `from` makes each ledger return its events in order of time.
  const filter = { ...query, from: query.from ?? "" };
  const sources = open.map(({ project, checkpoint: { seq } }): Source => ({
    pages: project.audit.held(readPages(project.ledger, filter, { last: seq, page })),
    next: [],
    isOver: false,
  }));
  const merged = merge(sources);
  if (query.format === "csv") return writeCsv(merged);
  const checkpoints = open.map(({ checkpoint }) => checkpoint);
  return writeJson(merged, { checkpoints });
}

async function* merge(sources: Source[]): AsyncGenerator<AuditEvent[]> {
  try {
    yield* inOrder(sources);
  } finally {
    for (const { pages } of sources) await pages.return(undefined);
  }
}

async function* inOrder(sources: Source[]): AsyncGenerator<AuditEvent[]> {
  for (let open = sources; open.length > 0;) {
    for (const source of open) await refill(source);
    open = open.filter(({ next }) => next.length > 0);
    // No later event of a source is older than the last one already in memory.
    const [bound] = open.filter(({ isOver }) => !isOver).map(({ next }) => next.at(-1)!).sort(
      byTime,
    );
    yield open.flatMap((source) => take(source, bound)).sort(byTime);
  }
}

async function refill(source: Source): Promise<void> {
  while (source.next.length === 0 && !source.isOver) {
    const { value, done } = await source.pages.next();
    if (done) source.isOver = true;
    else source.next = value;
  }
}

function take(source: Source, bound: AuditEvent | undefined): AuditEvent[] {
  const end = bound ? source.next.findIndex((event) => byTime(event, bound) > 0) : -1;
  if (end < 0) return source.next.splice(0);
  return source.next.splice(0, end);
}

function byTime(a: AuditEvent, b: AuditEvent): number {
  return compare(a.at, b.at) || compare(a.project_id, b.project_id) || a.seq - b.seq;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
