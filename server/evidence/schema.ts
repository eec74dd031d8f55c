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
  "lease.used",
  "wall.opened",
  "wall.closed",
  "reminder.sent",
  "escalation.raised",
  "escalation.closed",
  "project.removed",
  "ledger.move_started",
  "machine.joined",
  "machine.left",
  "proof.changed",
  "guard.restored",
  "block.added",
  "block.removed",
  "quota.reached",
  "member.added",
  "member.changed",
  "member.removed",
  "route.added",
  "route.changed",
  "route.removed",
  "monitor.terminated",
  "contents.dropped",
  "machine.repaired",
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

/** The proof of a bundle's events, which precedes them. */
export const Proof = z.object({
  format: z.literal("gate-audit-bundle"),
  version: z.literal(1),
  checkpoint: Checkpoint.describe("the signed head of the chain that the events belong to"),
  checkpoints: z.array(Checkpoint).describe("every signed head in the ledger"),
});
export type Proof = z.infer<typeof Proof>;

/** The result of an offline check of a bundle or an export. */
export const EvidenceVerification = AuditVerification.extend({
  from: z.string().nullable().describe("the time of the first event"),
  to: z.string().nullable().describe("the time of the last event"),
  public_key: z.string().describe("the key that the file says signed it"),
  compared_with: z.array(z.enum(["key", "checkpoint"]))
    .describe(
      "what the reader had from another source; without any, the whole log could be forged",
    ),
});
export type EvidenceVerification = z.infer<typeof EvidenceVerification>;
