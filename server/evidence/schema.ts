import { z } from "zod";
import { AuditVerification, Checkpoint } from "../audit/schema.ts";

/** What proves the events of a bundle; stands before them. */
export const Proof = z.object({
  format: z.literal("gate-audit-bundle"),
  version: z.literal(1),
  checkpoint: Checkpoint.describe("the signed head of the chain that the events belong to"),
  checkpoints: z.array(Checkpoint).describe("every signed head that was kept"),
});
export type Proof = z.infer<typeof Proof>;

/** What came of checking a bundle or an export, offline. */
export const EvidenceVerification = AuditVerification.extend({
  from: z.string().nullable().describe("the time of the first event"),
  to: z.string().nullable().describe("the time of the last event"),
  public_key: z.string().describe("the key that the file says signed it"),
  compared_with: z.array(z.enum(["key", "checkpoint"]))
    .describe("what the reader knew from elsewhere; without any, the whole could be made up"),
});
export type EvidenceVerification = z.infer<typeof EvidenceVerification>;
