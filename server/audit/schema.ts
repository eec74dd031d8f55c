import { z } from "zod";
import { AuditEvent, AuditType, AuditVerification, Checkpoint } from "../evidence/schema.ts";

/** A time, or a day that begins at midnight UTC. */
export const Time = z.union([z.iso.datetime({ offset: true }), z.iso.date()], {
  error: "expected a day or a time, such as 2026-03-01 or 2026-03-01T12:00:00Z",
})
  .transform((value) => new Date(value).toISOString());

/** A number of days back from now, such as `7d`. */
export const Window = z.string().regex(/^[1-9][0-9]{0,3}d$/, "expected days, such as 7d")
  .refine((value) => parseInt(value) <= 3650, "expected at most 3650d");

/** The moment at which a window of days begins. */
export function startOfWindow(window: string, now: number): string {
  const day_ms = 24 * 60 * 60 * 1000;
  return new Date(now - parseInt(window) * day_ms).toISOString();
}

/** The query with its window as `from`; if it has both, the later time counts. */
export function withoutWindow<T extends { window?: string; from?: string }>(
  { window, ...query }: T,
  now: number,
) {
  if (window === undefined) return query;
  const start = startOfWindow(window, now);
  return { ...query, from: query.from !== undefined && query.from > start ? query.from : start };
}

/** Query of `GET /api/audit/export`. */
export const AuditExportQuery = z.object({
  project: z.string().optional(),
  format: z.enum(["json", "csv", "bundle"]).default("json")
    .describe("bundle: a page with the whole log of one project, which checks itself"),
  window: Window.optional(),
  from: Time.optional().describe("events of this time and later"),
  to: Time.optional().describe("events before this time"),
  type: AuditType.optional(),
  session_id: z.string().max(256).optional(),
  action_id: z.string().max(256).optional(),
});
export type AuditExportQuery = z.infer<typeof AuditExportQuery>;

/** `GET /api/audit/export` as JSON: the events in order, and their proof. */
export const AuditExport = z.object({
  events: z.array(AuditEvent),
  checkpoint: Checkpoint.describe("the signed head of the chain that the events belong to"),
  checkpoints: z.array(Checkpoint).describe("every signed head in the ledger"),
});
export type AuditExport = z.infer<typeof AuditExport>;

/** `GET /api/global/audit/export` as JSON: the events of all projects in the order of their times. */
export const GlobalAuditExport = z.object({
  events: z.array(AuditEvent),
  checkpoints: z.array(Checkpoint).describe("the signed head of each project's chain"),
});

/** Query of `GET /api/audit/head`. */
export const AuditHeadQuery = z.object({
  project: z.string().optional(),
  at: z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER).optional()
    .describe("the number of an event whose hash a client remembers"),
});

/**
 * Answer of `GET /api/audit/head`. A client that remembers it notices later that the ledger lost or
 * changed events.
 */
export const AuditHead = z.object({
  project_id: z.string(),
  seq: z.number().int().describe("of the newest event; 0 in an empty ledger"),
  hash: z.string(),
  at: z.object({ seq: z.number().int(), hash: z.string() }).nullable()
    .describe("the event that was asked for; null without `at`, and when it does not exist"),
});
export type AuditHead = z.infer<typeof AuditHead>;

/** Query of `GET /api/audit/events`. */
export const AuditEventsQuery = AuditExportQuery.omit({ format: true }).extend({
  limit: z.coerce.number().int().min(1).max(200).optional(),
  cursor: z.string().max(256).optional(),
});
export type AuditEventsQuery = z.infer<typeof AuditEventsQuery>;

/** Answer of `GET /api/audit/events`: events that match, newest first. */
export const AuditEventList = z.object({
  items: z.array(AuditEvent),
  next_cursor: z.string().nullable().describe("a page may be shorter than its limit"),
});
export type AuditEventList = z.infer<typeof AuditEventList>;

/** Answer of `GET /api/audit/state`: the chain as it is, without a check of it. */
export const AuditState = z.object({
  project_id: z.string(),
  events: z.number().int(),
  newest_at: z.iso.datetime().nullable(),
  hash: z.string().describe("of the newest event"),
  public_key: z.string().describe("the key that signs this ledger's heads"),
  checkpoint: Checkpoint.nullable().describe("the newest signed head"),
  check: z.object({
    started_at: z.iso.datetime(),
    finished_at: z.iso.datetime().nullable().describe("null while it runs"),
    checked: z.number().int().describe("events so far"),
    of: z.number().int(),
    result: AuditVerification.nullable(),
  }).nullable().describe("the newest check since the daemon opened the ledger"),
});
export type AuditState = z.infer<typeof AuditState>;
