import { z } from "zod";

/** Every kind of event that can stand in the audit chain. */
export const AuditType = z.enum([
  "session.started",
  "session.ended",
  "action.submitted",
  "action.approved",
  "action.rejected",
  "action.edited",
  "action.conflicted",
  "action.expired",
  "action.cancelled",
  "action.started",
  "action.finished",
  "action.rolled_back",
  "action.replayed",
  "vote.cast",
  "policy.changed",
  "grant.added",
  "grant.used",
  "grant.revoked",
  "escalation.raised",
  "escalation.closed",
  "proof.changed",
  "block.added",
  "block.removed",
  "member.added",
  "member.changed",
  "member.removed",
  "route.added",
  "route.changed",
  "route.removed",
  "monitor.terminated",
]);
export type AuditType = z.infer<typeof AuditType>;

/** Who caused an event. */
export const Actor = z.object({
  kind: z.enum(["agent", "reviewer", "policy", "system"]),
  id: z.string(),
});
export type Actor = z.infer<typeof Actor>;

/** One row of the append-only chain: `hash` covers everything else, `prev_hash` the row before. */
export const AuditEvent = z.object({
  seq: z.number().int(),
  at: z.iso.datetime(),
  project_id: z.string(),
  session_id: z.string().nullable(),
  action_id: z.string().nullable(),
  type: AuditType,
  actor: Actor,
  data: z.record(z.string(), z.unknown()),
  prev_hash: z.string(),
  hash: z.string(),
});
export type AuditEvent = z.infer<typeof AuditEvent>;

/** A signed head of the chain (Ed25519 over the canonical JSON of the other fields). */
export const Checkpoint = z.object({
  project_id: z.string(),
  seq: z.number().int(),
  hash: z.string(),
  at: z.iso.datetime(),
  public_key: z.string(),
  signature: z.string(),
});
export type Checkpoint = z.infer<typeof Checkpoint>;

/** Answer of `GET /api/audit/verify`. */
export const AuditVerification = z.object({
  ok: z.boolean(),
  project_id: z.string(),
  events: z.number().int(),
  checkpoints: z.number().int(),
  head: z.object({ seq: z.number().int(), hash: z.string() }).nullable(),
  problem: z.object({ seq: z.number().int().nullable(), what: z.string() }).nullable(),
});
export type AuditVerification = z.infer<typeof AuditVerification>;

/** A time, or a day that begins at midnight UTC. */
export const Time = z.union([z.iso.datetime({ offset: true }), z.iso.date()], {
  error: "expected a day or a time, such as 2026-03-01 or 2026-03-01T12:00:00Z",
})
  .transform((value) => new Date(value).toISOString());

/** A number of days back from now, such as `7d`. */
export const Window = z.string().regex(/^[1-9][0-9]{0,3}d$/, "expected days, such as 7d")
  .refine((value) => parseInt(value) <= 3650, "expected at most 3650d");

/** Query of `GET /api/audit/export`. */
export const AuditExportQuery = z.object({
  project: z.string().optional(),
  format: z.enum(["json", "csv", "bundle"]).default("json")
    .describe("bundle: a page that proves itself, of the whole log of one project"),
  window: Window.optional(),
  from: Time.optional().describe("events of this time and later"),
  to: Time.optional().describe("events before this time"),
  type: AuditType.optional(),
  session_id: z.string().max(256).optional(),
  action_id: z.string().max(256).optional(),
});
export type AuditExportQuery = z.infer<typeof AuditExportQuery>;

/** `GET /api/audit/export` as JSON: events in order, and what proves them. */
export const AuditExport = z.object({
  events: z.array(AuditEvent),
  checkpoint: Checkpoint.describe("the signed head of the chain that the events belong to"),
  checkpoints: z.array(Checkpoint).describe("every signed head that was kept"),
});
export type AuditExport = z.infer<typeof AuditExport>;

/** `GET /api/global/audit/export` as JSON: the events of all projects in the order of their times. */
export const GlobalAuditExport = z.object({
  events: z.array(AuditEvent),
  checkpoints: z.array(Checkpoint).describe("the signed head of each project's chain"),
});
