import type { AuditExportQuery } from "./schema.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/** The moment at which a window of days begins. */
export function beginOf(window: string, now: number): string {
  return new Date(now - parseInt(window) * DAY_MS).toISOString();
}

/** The query with its window as a `from`; of two beginnings the later one counts. */
export function withoutWindow<T extends Pick<AuditExportQuery, "window" | "from">>(
  { window, ...query }: T,
  now: number,
) {
  if (window === undefined) return query;
  const begin = beginOf(window, now);
  return { ...query, from: query.from !== undefined && query.from > begin ? query.from : begin };
}
